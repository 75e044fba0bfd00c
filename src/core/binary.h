// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <map>
#include <span>
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

/// Which compiled kernel something was found out about: a name and a recipe alone do not say what a compiler made.
struct BinaryIdentity {
  std::string recipe, toolchain, sha256;
  bool operator==(const BinaryIdentity&) const = default;
};

/// A compiled task, in the kernel cache.
struct Binary {
  std::string arch, recipe;
  std::string toolchain;                        ///< `gcc-12.2.0`
  std::string sha256;                           ///< Of the file, 64 hexadecimal digits.
  std::filesystem::path file;                   ///< Shared object, cubin …
  std::map<std::string, std::string> metadata;  ///< What the compiler reports: registers, spills …
  BinaryIdentity identity() const { return {recipe, toolchain, sha256}; }
  bool operator==(const Binary&) const = default;
};

/// Of a candidate's binaries, in their order. Empty for a candidate that has none.
std::vector<BinaryIdentity> identities(std::span<const Binary> binaries);

}  // namespace attune
