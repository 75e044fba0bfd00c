// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <string>
#include <string_view>

namespace attune {

/// A Python program and the package `triton` that it imports.
struct TritonPackage {
  std::string python;    ///< Absolute path of the program.
  std::string packages;  ///< Folder to add to the front of its search path; empty: its own packages.
  std::string folder;    ///< The package's: `…/site-packages/triton`.
  std::string version;   ///< `3.9.0`
  std::string hash;      ///< Of the list of its files, which has a hash of each. 64 hexadecimal digits.
};

/// Finds the package: of $ATTUNE_PYTHON (an absolute path, or a name on PATH); else the one that `tools/setup
/// --with-triton` installed, for Debian's Python; else of `python3` on PATH. The first call for a program runs it (60
/// ms), without importing the package, and checks that the package's files are there with their sizes. Failures are
/// remembered too. Reads the environment. Throws unavailable, naming what to install. Thread-safe.
TritonPackage triton_package();

/// Whether Attune was tested with this version of the package. Others are used, too.
bool is_tested_triton(std::string_view version) noexcept;

/// The whole environment of a Python program that stays apart from the user's: its home, caches and temporary files
/// lie in `folder`.
std::map<std::string, std::string> separate_python_environment(const std::string& folder);

/// The rest of the last line that a script of this folder printed with its mark, such as `\nattune-triton: `. Python
/// and its packages print other lines. Empty if it is missing.
std::string_view marked_line(std::string_view output, std::string_view mark) noexcept;

/// Text of a Python script of this folder, by name.
std::string_view triton_script(std::string_view name);

}  // namespace attune
