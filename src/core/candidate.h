// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

#include "core/config.h"

namespace attune {

/// One way to compute a problem: solver, its version (with the library's: `1+2.6.3`) and a config.
struct Candidate {
  std::string solver, version;
  Config config;

  /// `jit_cuda.gemm@3:bk=64;bm=128`: the form in tables; sufficient to check the candidate and build it again. No
  /// commas.
  std::string name() const;
  /// Inverse of name(). Throws invalid_input, also for table cells of older tools (`_ZN5aiter…`).
  static Candidate parse(std::string_view name);
  /// `jit.gemm@3:[bk=64;bm=128]`: the form as a value of another candidate's config, whose part it is.
  std::string nested_name() const;
  /// Inverse of nested_name(). Throws invalid_input.
  static Candidate parse_nested(std::string_view name);
  bool operator==(const Candidate&) const = default;
  auto operator<=>(const Candidate&) const = default;
};

/// The version of a candidate that a find-db names: the one that is here. An empty config is then the default one.
inline constexpr const char* kAnyVersion = "any";
inline bool names_any_version(const Candidate& candidate) noexcept { return candidate.version == kAnyVersion; }

/// The first part of a solver's id, which tables carry as the library: `cublaslt` of `cublaslt.gemm`.
inline std::string_view first_part(std::string_view solver) noexcept { return solver.substr(0, solver.find('.')); }

/// Whether a library computes the candidate: its version then has the library's (`1+2.6.3`).
inline bool is_of_library(const Candidate& candidate) noexcept {
  return candidate.version.find('+') != std::string::npos;
}

/// The parts of K that a config computes apart and adds: its parameter `split_k`, of Triton's kernels `SPLIT_K`;
/// else 1.
inline int64_t split_k_of(const Config& config) {
  for (const char* name : {"split_k", "SPLIT_K"}) {
    if (config.has(name)) return config.integer(name);
  }
  return 1;
}

/// The parameter of a config that names the layout of the weights which the kernel reads.
inline constexpr const char* kLayoutParameter = "b_layout";
/// The layout of weights as a layer holds them: of a config without the parameter, and of an empty cell of a table.
/// Layout::name begins with it.
inline constexpr const char* kPlainLayout = "plain";

/// The layout of the weights that a config reads.
inline std::string layout_of(const Config& config) {
  return config.has(kLayoutParameter) ? config.text(kLayoutParameter) : kPlainLayout;
}
inline std::string layout_of(const Candidate& candidate) { return layout_of(candidate.config); }
/// The layout that a cell of a table names.
inline std::string_view layout_in_cell(std::string_view cell) { return cell.empty() ? kPlainLayout : cell; }

}  // namespace attune
