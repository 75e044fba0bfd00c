// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace attune {

/// What a shared library asks of others, read from its file.
struct LibraryNeeds {
  std::vector<std::string> libraries;  ///< File names, as the loader looks them up: `libopenblas.so.0`.
  /// C functions and variables of vendors' libraries: `cblas_sgemm`. They have no version. Names of libc, the
  /// compiler's libraries and OpenMP have one, or begin with two underscores.
  std::vector<std::string> symbols;
};

/// Empty for a file that is no 64-bit shared library, or has no table of sections.
LibraryNeeds needs_of_library(const std::filesystem::path& file);

/// Opens a library for the life of the process so that its calls reach the libraries that it links. Its memory, threads
/// and C++ run time are those of the application. Static objects of the libraries that it brings into the process are
/// not destroyed (keep_statics()). Returns the loader's handle; null, with the reason in `why`.
///
/// The loader looks names up among the program's libraries first. RTLD_DEEPBIND, which puts the library's own ones
/// first, is set only where that matters: another library defines one of its `symbols` for the whole process (the
/// application links MKL, the module links OpenBLAS). Then `why` is set for a library that cannot be separated: a
/// sanitizer forbids the flag, or the application's allocator is not libc's and the library does not link
/// libattune_allocator (docs/adr/0031).
void* open_separately(const std::filesystem::path& file, std::string& why);

}  // namespace attune
