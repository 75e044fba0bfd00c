// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string>

namespace attune {

/// Returns the file that the loader finds under a path or a name such as `libcuda.so.1`; empty: there is none. A name
/// is looked up in the program's own folders, those of LD_LIBRARY_PATH at its start and the system's, in the loader's
/// order; what only the loader's cache (ld.so.conf) or a processor's subfolder (glibc-hwcaps) has is not found.
std::filesystem::path library_file(const std::string& name);

/// Describes why a library must not be loaded: the file is cut off, or its end was never written. The loader maps the
/// segments that the header names, and a process dies (SIGBUS) where it reads what the file lacks. Empty for a whole
/// 64-bit ELF file, and for one of another kind, which the loader refuses with a reason. Reads headers alone: other
/// damage is not seen.
std::string flaw_of_library(const std::filesystem::path& file);

}  // namespace attune
