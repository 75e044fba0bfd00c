// SPDX-License-Identifier: MIT
#include "solver/candidate_number.h"

#include <fmt/format.h>

#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace attune {
namespace {

/// The contender that a number is of: the one with this id, else the one with this first part.
const Contender& contender_of(const CandidateNumber& wanted, std::span<const Contender> contenders) {
  std::vector<const Contender*> named, supporting;
  for (const Contender& one : contenders) {
    if (one.solver == wanted.solver) return one;
    if (!wanted.is_of(one.solver)) continue;
    named.push_back(&one);
    if (one.support.yes) supporting.push_back(&one);
  }
  if (named.empty())
    fail(ErrorCode::unavailable, "no solver of that name is available on this machine: '{}'", shown(wanted.solver));
  if (supporting.size() > 1)
    fail(ErrorCode::invalid_input,
         "several solvers of that name support the problem, give the id of one ({}, {}): '{}'", supporting[0]->solver,
         supporting[1]->solver, wanted.text());
  return supporting.empty() ? *named.front() : *supporting.front();
}

}  // namespace

std::optional<CandidateNumber> CandidateNumber::parse(std::string_view text) {
  const size_t mark = text.find('#');
  if (mark == std::string_view::npos || text.find('@') != std::string_view::npos) return std::nullopt;
  const auto number = parse_int(text.substr(mark + 1));
  if (mark == 0 || !number || *number < 0)
    fail(ErrorCode::invalid_input, "expected a candidate's number as solver#number (cublaslt#17), got '{}'",
         shown(text));
  return CandidateNumber{std::string(text.substr(0, mark)), static_cast<uint64_t>(*number)};
}

std::string CandidateNumber::text() const { return fmt::format("{}#{}", solver, number); }

std::optional<std::string> why_unnumbered(const Contender& contender) {
  if (!contender.support.yes) return contender.support.reason;
  if (contender.parts.empty()) return std::nullopt;
  return "is made of other solvers' candidates and has no numbers, name one in full";
}

std::optional<uint64_t> number_of(const Candidate& candidate, std::span<const Contender> contenders) {
  const Contender* own = find_contender(contenders, candidate.solver);
  if (own == nullptr || own->version != candidate.version || why_unnumbered(*own)) return std::nullopt;
  return own->space.index_of(candidate.config);
}

Candidate numbered_candidate(const CandidateNumber& wanted, std::span<const Contender> contenders) {
  const Contender& own = contender_of(wanted, contenders);
  if (const auto why = why_unnumbered(own))
    fail(own.support.yes ? ErrorCode::invalid_input : ErrorCode::unavailable, "{} {}", own.solver, *why);
  if (wanted.number >= own.space.size())
    fail(ErrorCode::invalid_input, "the numbers of {} for this problem are below {}, got '{}'", own.solver,
         own.space.size(), wanted.text());
  return {own.solver, own.version, own.space.at(wanted.number)};
}

}  // namespace attune
