// SPDX-License-Identifier: MIT
// Statics of libattune.so are never destroyed. At exit() those that were made after the dispatcher's exit function was
// registered would go before it runs, while the dispatcher's own thread may be using them; other threads of the
// application may go on using all of them. Only the library links this file, so only its own registrations end here.
extern "C" __attribute__((visibility("hidden"))) int __cxa_atexit(void (*)(void*), void*, void*);
extern "C" int __cxa_atexit(void (*)(void*), void*, void*) { return 0; }
