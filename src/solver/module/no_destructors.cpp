// SPDX-License-Identifier: MIT
// Part of every module: the vendor library that the module links registers its static objects' destructors here, and
// none is called. exit() would run them while another thread makes a plan: a library registers its objects at first
// use, after all of Attune's, so no code of Attune's can run before them. RTLD_DEEPBIND binds the library's calls of
// this function to the module; sanitizers forbid that, and there the calls reach libc as usual.
extern "C" __attribute__((visibility("default"))) int __cxa_atexit(void (*)(void*), void*, void*);
extern "C" int __cxa_atexit(void (*)(void*), void*, void*) { return 0; }
