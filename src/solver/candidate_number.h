// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/candidate.h"
#include "solver/contender.h"

namespace attune {

/// A candidate by the place of its config in its solver's space for a problem (SearchSpace::index_of()): `cublaslt#17`.
/// It means that candidate on one device under one thread limit and with one version of the solver and its library;
/// what lasts longer is named in full.
struct CandidateNumber {
  std::string solver;  ///< Id, `cublaslt.gemm`, or its first_part().
  uint64_t number = 0;

  /// Returns nothing for a text that is no such: a text with an @ is a name. Throws invalid_input for one that has no
  /// number behind its #, and no solver before it.
  static std::optional<CandidateNumber> parse(std::string_view text);
  std::string text() const;  ///< Inverse of parse().
  /// Whether it may be of the solver with this id.
  bool is_of(std::string_view id) const noexcept { return solver == id || solver == first_part(id); }
};

/// Returns a candidate's number in the space of the contender of its solver. Nothing: that is not among them or has
/// another version, the config is not one of its space (batch-invariant ones need not be), or it has parts, whose
/// candidates are no values of the space.
std::optional<uint64_t> number_of(const Candidate& candidate, std::span<const Contender> contenders);

/// Returns the candidate with a number; rules may still exclude it (why_unusable()). Throws unavailable when no
/// contender has the name, and when it does not support the problem; invalid_input for a number that the space does not
/// have, for a solver with parts, and for a first part that several supporting contenders share.
Candidate numbered_candidate(const CandidateNumber& wanted, std::span<const Contender> contenders);

/// Why no candidate of the contender has a number, a clause behind the solver's id; nothing if some have.
std::optional<std::string> why_unnumbered(const Contender& contender);

}  // namespace attune
