// SPDX-License-Identifier: MIT
// Disables the destruction of libattune.so's statics. At exit() the statics created after the dispatcher's exit
// function was registered would be destroyed before it runs, while the dispatcher's thread may be using them; other
// threads of the application may use any of them. Only the library links this file, so only its own registrations are
// disabled.
extern "C" __attribute__((visibility("hidden"))) int __cxa_atexit(void (*)(void*), void*, void*);
extern "C" int __cxa_atexit(void (*)(void*), void*, void*) { return 0; }
