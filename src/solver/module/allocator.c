// SPDX-License-Identifier: MIT
// libattune_allocator.so: sends the allocations of a module, and of the vendor library that it links, to the
// application's allocator. It matters only in a module that is opened with RTLD_DEEPBIND
// (base/library/separate_library.h): the loader then binds `malloc` to the first of the module's own libraries that
// defines it, which would be libc though the application has preloaded jemalloc. This library stands before libc. In
// every other process the global scope comes first and nothing of C is bound to it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

// The application's function: of the program, what it links or preloads; otherwise that of the module's own libraries.
static void* application_function(const char* name) {
  void* const program = dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);
  void* found = program != NULL ? dlsym(program, name) : NULL;
  if (found == NULL) found = dlsym(RTLD_NEXT, name);
  if (found == NULL) abort();  // libc has the first group, libstdc++ the second.
  return found;
}

#define FORWARD(result, name, parameters, ...)                                     \
  __attribute__((visibility("default"))) result name parameters;                   \
  result name parameters {                                                         \
    static void* cached;                                                           \
    void* function = __atomic_load_n(&cached, __ATOMIC_RELAXED);                   \
    if (function == NULL) {                                                        \
      function = application_function(#name);                                      \
      __atomic_store_n(&cached, function, __ATOMIC_RELAXED);                       \
    }                                                                              \
    return ((result(*) parameters)(size_t)function)(__VA_ARGS__);                  \
  }

FORWARD(void*, malloc, (size_t bytes), bytes)
FORWARD(void*, calloc, (size_t count, size_t bytes), count, bytes)
FORWARD(void*, realloc, (void* memory, size_t bytes), memory, bytes)
FORWARD(void*, reallocarray, (void* memory, size_t count, size_t bytes), memory, count, bytes)
FORWARD(void, free, (void* memory), memory)
FORWARD(int, posix_memalign, (void** memory, size_t alignment, size_t bytes), memory, alignment, bytes)
FORWARD(void*, aligned_alloc, (size_t alignment, size_t bytes), alignment, bytes)
FORWARD(void*, memalign, (size_t alignment, size_t bytes), alignment, bytes)
FORWARD(void*, valloc, (size_t bytes), bytes)
FORWARD(void*, pvalloc, (size_t bytes), bytes)
FORWARD(size_t, malloc_usable_size, (void* memory), memory)

// C++'s operators, by their names in the Itanium ABI: new and new[]; plain, nothrow, aligned, both.
FORWARD(void*, _Znwm, (size_t bytes), bytes)
FORWARD(void*, _Znam, (size_t bytes), bytes)
FORWARD(void*, _ZnwmRKSt9nothrow_t, (size_t bytes, const void* tag), bytes, tag)
FORWARD(void*, _ZnamRKSt9nothrow_t, (size_t bytes, const void* tag), bytes, tag)
FORWARD(void*, _ZnwmSt11align_val_t, (size_t bytes, size_t alignment), bytes, alignment)
FORWARD(void*, _ZnamSt11align_val_t, (size_t bytes, size_t alignment), bytes, alignment)
FORWARD(void*, _ZnwmSt11align_val_tRKSt9nothrow_t, (size_t bytes, size_t alignment, const void* tag), bytes, alignment,
        tag)
FORWARD(void*, _ZnamSt11align_val_tRKSt9nothrow_t, (size_t bytes, size_t alignment, const void* tag), bytes, alignment,
        tag)
FORWARD(void, _ZdlPv, (void* memory), memory)
FORWARD(void, _ZdaPv, (void* memory), memory)
FORWARD(void, _ZdlPvm, (void* memory, size_t bytes), memory, bytes)
FORWARD(void, _ZdaPvm, (void* memory, size_t bytes), memory, bytes)
FORWARD(void, _ZdlPvRKSt9nothrow_t, (void* memory, const void* tag), memory, tag)
FORWARD(void, _ZdaPvRKSt9nothrow_t, (void* memory, const void* tag), memory, tag)
FORWARD(void, _ZdlPvSt11align_val_t, (void* memory, size_t alignment), memory, alignment)
FORWARD(void, _ZdaPvSt11align_val_t, (void* memory, size_t alignment), memory, alignment)
FORWARD(void, _ZdlPvmSt11align_val_t, (void* memory, size_t bytes, size_t alignment), memory, bytes, alignment)
FORWARD(void, _ZdaPvmSt11align_val_t, (void* memory, size_t bytes, size_t alignment), memory, bytes, alignment)
FORWARD(void, _ZdlPvSt11align_val_tRKSt9nothrow_t, (void* memory, size_t alignment, const void* tag), memory, alignment,
        tag)
FORWARD(void, _ZdaPvSt11align_val_tRKSt9nothrow_t, (void* memory, size_t alignment, const void* tag), memory, alignment,
        tag)

// Registers no destructor of a library that is bound to this one: exit() would run it while another thread is in it.
__attribute__((visibility("default"))) int __cxa_atexit(void (*)(void*), void*, void*);
int __cxa_atexit(void (*function)(void*), void* object, void* library) {
  (void)function, (void)object, (void)library;
  return 0;
}
