// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace attune {

/// A source to be compiled to kernels. Pure data: the same task gives the same recipe on every machine.
struct CompileTask {
  std::string compiler;              ///< Name of a Compiler: `hostcc`.
  std::string source;                ///< The whole text; includes nothing of Attune.
  std::string arch;                  ///< `x86-64-v4+bf16`, `sm_90`: a folder of the kernel cache.
  std::vector<std::string> options;  ///< In the compiler's spelling.
  std::vector<std::string> entries;  ///< Symbols the binary must export.
  /// Hash of all of the above; the toolchain is not in it. 32 hexadecimal digits.
  std::string recipe() const;
  bool operator==(const CompileTask&) const = default;
};

/// A compiled task, in the kernel cache.
struct Binary {
  std::string arch, recipe;
  std::string toolchain;                        ///< `gcc-12.2.0`
  std::string sha256;                           ///< Of the file, 64 hexadecimal digits.
  std::filesystem::path file;                   ///< Shared object, cubin …
  std::map<std::string, std::string> metadata;  ///< What the compiler reports: registers, spills …
  bool operator==(const Binary&) const = default;
};

}  // namespace attune
