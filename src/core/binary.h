// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace attune {

/// Toolchains by compiler: `hostcc` → `gcc-12.2.0`.
using Toolchains = std::map<std::string, std::string>;

/// A source text to compile to kernels. Pure data: equal tasks have the same recipe on every machine.
struct CompileTask {
  std::string compiler;              ///< Name of a Compiler: `hostcc`.
  std::string source;                ///< The whole text; includes no header of Attune.
  std::string arch;                  ///< `x86-64-v4+bf16`, `sm_90`: names a folder of the kernel cache.
  std::vector<std::string> options;  ///< In the compiler's spelling.
  std::vector<std::string> entries;  ///< Symbols the binary must export.
  /// Name of the candidate for which it is compiled, for people; others may share it. Empty: unknown.
  std::string candidate{};
  /// Hash of compiler, source, arch, options and entries, without the toolchain. 32 hexadecimal digits.
  std::string recipe() const;
  bool operator==(const CompileTask&) const = default;
};

/// Identity of the compiled kernel that a finding refers to: name and recipe alone do not identify a compiler's output.
struct BinaryIdentity {
  std::string recipe, toolchain, sha256;
  bool operator==(const BinaryIdentity&) const = default;
};

/// Facts of a compiled kernel by name: `registers`, `spills`, `shared_bytes`, `code_bytes` …
using BinaryMetadata = std::map<std::string, std::string>;

/// A compiled task, in the kernel cache.
struct Binary {
  std::string arch, recipe;
  std::string toolchain;       ///< `gcc-12.2.0`
  std::string sha256;          ///< Hash of the file, 64 hexadecimal digits.
  std::filesystem::path file;  ///< Shared object, cubin …
  BinaryMetadata metadata;  ///< The report of its compiler, beside `candidate` (the first that needed it), `compiler`,
                            ///< `command`, `options`, `entries`.
  BinaryIdentity identity() const { return {recipe, toolchain, sha256}; }
  bool operator==(const Binary&) const = default;
};

/// Identities of a candidate's binaries, in their order. Empty for a candidate without binaries.
std::vector<BinaryIdentity> identities(std::span<const Binary> binaries);

/// Returns the compilers' reports on a candidate's binaries, in their order: their metadata without the members that
/// repeat the task. Empty if nothing is reported of any.
std::vector<BinaryMetadata> compiler_reports(std::span<const Binary> binaries);

}  // namespace attune
