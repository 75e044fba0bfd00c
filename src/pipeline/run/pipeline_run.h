// SPDX-License-Identifier: MIT
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "pipeline/run/family_run.h"
#include "pipeline/run/run_folder.h"
#include "pipeline/run/run_results.h"

namespace attune {

/// Tunes families one after the other: validates their tables, times the shapes as they are served (before.json), tunes
/// and publishes into the configuration folder, lists the rows that changed, and compares the times before and after
/// (after.json). A family that fails is listed, and the others go on. Writes the artefacts into the folder. From there
/// a second call goes on with an interrupted run: it repeats no completed step of a family, and tuning goes on from the
/// journal. `inputs`: as given to the folder. Progress is printed on standard error, the output of the steps in
/// log.txt. Has an InterruptHandler: the first signal ends the run in order. One run at a time in a process. Throws io
/// if the folder cannot be written, and internal.
RunResults run_pipeline(const std::vector<FamilyRun>& families, RunFolder& folder, const ChangeOptions& change,
                        const nlohmann::ordered_json& inputs);

}  // namespace attune
