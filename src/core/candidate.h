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

}  // namespace attune
