// SPDX-License-Identifier: MIT
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "pipeline/run/run_folder.h"
#include "pipeline/run/run_results.h"
#include "report/document/model.h"

namespace attune {

/// The results of a run as a report has them, without what the journal knows. `inputs`: those of the run.
ReportPipeline report_of(const RunResults& results, const nlohmann::ordered_json& inputs);

/// Writes report.html, report.md, junit.xml and, last, results.json, which says how the run ended
/// (docs/ci_reference.md). `journal`: what it knows of the run's shapes is part of the report; without it, or if it
/// cannot be read, the rest is written. Throws io.
void write_report(const RunFolder& folder, const RunResults& results, const nlohmann::ordered_json& inputs,
                  const std::filesystem::path& journal);

}  // namespace attune
