// SPDX-License-Identifier: MIT
// Part of every module: disables the destruction of its statics. exit() would run it while another thread is in the
// module. Those of the vendor library are disabled by modules/vendor_statics.h.
extern "C" __attribute__((visibility("hidden"))) int __cxa_atexit(void (*)(void*), void*, void*);
extern "C" int __cxa_atexit(void (*)(void*), void*, void*) { return 0; }
