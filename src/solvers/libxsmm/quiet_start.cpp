// SPDX-License-Identifier: MIT
// What libxsmm's start does to its process, replaced by nothing (CMakeLists.txt, --wrap): it sets OMP_PROC_BIND=TRUE in
// the environment, so that OpenMP programs started later bind their threads to single cores, and seeds rand().

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names.
__attribute__((visibility("hidden"))) int __wrap_putenv(char*);
__attribute__((visibility("hidden"))) void __wrap_srand(unsigned);
__attribute__((visibility("hidden"))) void __wrap_srand48(long);

int __wrap_putenv(char*) { return 0; }
void __wrap_srand(unsigned) {}
void __wrap_srand48(long) {}
// NOLINTEND(bugprone-reserved-identifier)
}
