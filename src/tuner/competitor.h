// SPDX-License-Identifier: MIT
#pragma once
#include "tuner/problem_run.h"

namespace attune {

struct ProblemRun::Competitor {
  Candidate candidate;
  Slot slot = 0;
  Outcome verified;
  uint32_t batch = 1;
  uint64_t workspace_bytes = 0, rotation_bytes = 0;
  bool shortlisted = false;
  std::vector<BinaryIdentity> binaries;
};

}  // namespace attune
