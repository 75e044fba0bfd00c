// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <vector>

#include "core/binary.h"
#include "core/candidate.h"
#include "core/outcome.h"
#include "core/turn.h"

namespace attune {

/// An admitted candidate of one problem.
struct Competitor {
  Candidate candidate;
  Slot slot = 0;
  Outcome verified;
  uint32_t batch = 1;
  uint64_t workspace_bytes = 0, rotation_bytes = 0;
  bool shortlisted = false;
  std::vector<BinaryIdentity> binaries;
};

}  // namespace attune
