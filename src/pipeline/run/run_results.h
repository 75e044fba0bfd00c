// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attune/error.h"
#include "ops/family.h"
#include "pipeline/before_after.h"

namespace attune {

/// The results of one family in a pipeline's run.
struct FamilyResult {
  const FamilySpec* family = nullptr;
  std::string device;             ///< Key; empty until a shape was timed.
  std::string fingerprint;        ///< Of the device; empty until a shape was timed.
  std::string failure;            ///< A sentence; empty: every step was done or interrupted.
  std::optional<ErrorCode> code;  ///< Of the failure, if an error was its reason.
  std::string unwritten;          ///< A sentence about the first artefact that could not be written; empty: all were.
  size_t num_findings = 0;        ///< Of validate.
  size_t num_added = 0, num_changed = 0, num_removed = 0, num_same = 0;  ///< Rows of the default table.
  std::string difference;                                                ///< Of the default table, in Markdown.
  std::vector<ShapeChange> shapes;                                       ///< As far as they were compared.
  bool is_done = false;                                                  ///< Whether every step was.
};

/// A run's results: the verdicts on the shapes of all families, judged together.
struct RunResults {
  std::vector<FamilyResult> families;
  std::vector<std::vector<ChangeResult>> verdicts;  ///< For each family, of its shapes.
  std::string ending;                               ///< As in run_ending.
  int status = 0;                                   ///< Exit status.
};

/// Judges all shapes together, and sets the verdicts and the status: 1 if a shape became slower, if all shapes failed
/// or a family did; 3 if one failed for a reason of this machine, or an artefact is not written; `interrupt_status`
/// unless it is 0.
void judge_run(RunResults& results, const ChangeOptions& change, int interrupt_status);

}  // namespace attune
