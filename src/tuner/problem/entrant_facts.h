// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <vector>

#include "attune/requirement.h"
#include "core/binary.h"
#include "core/candidate.h"
#include "core/outcome.h"
#include "core/turn.h"

namespace attune {

/// A run's knowledge of an admitted candidate.
struct EntrantFacts {
  Candidate candidate;
  Slot slot = 0;
  Outcome verified;
  uint32_t batch = 1;
  Timing timing = Timing::clock;  ///< How its samples can be timed, see AdmitAnswer.
  uint64_t workspace_bytes = 0, rotation_bytes = 0;
  bool shortlisted = false;
  Requirement states = Requirement::none;  ///< Requirement that its plan states, and was found to keep.
  double bandwidth_gbs = 0;                ///< See AdmitAnswer.
  std::vector<BinaryIdentity> binaries;
  std::vector<BinaryMetadata> metadata;  ///< compiler_reports() of the binaries.
  double prepare_s = 0, timing_s = 0;    ///< Spent on it in this run, see Trial.
};

}  // namespace attune
