// SPDX-License-Identifier: MIT
// Part of every module: the vendor library that the module links registers its static objects' destructors here, and
// none is called. exit() would take them down while another thread makes a plan: a library registers what it makes in
// its first use after everything of ours, so nothing of ours can run before. RTLD_DEEPBIND has the library's calls of
// this function end in the module; under sanitizers, which forbid that, they end in libc as ever.
extern "C" __attribute__((visibility("default"))) int __cxa_atexit(void (*)(void*), void*, void*);
extern "C" int __cxa_atexit(void (*)(void*), void*, void*) { return 0; }
