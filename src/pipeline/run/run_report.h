// SPDX-License-Identifier: MIT
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "pipeline/run/run_folder.h"
#include "pipeline/run/run_results.h"
#include "report/document/model.h"

namespace attune {

/// The results of a run as a report has them, without data of the journal. `inputs`: the run's.
ReportPipeline report_of(const RunResults& results, const nlohmann::ordered_json& inputs);

/// Writes report.html, report.md, junit.xml and, last, results.json with the run's ending (docs/ci_reference.md). The
/// report includes the data of `journal` on the run's shapes; without a journal, or if it cannot be read, the rest is
/// written. Throws io.
void write_report(const RunFolder& folder, const RunResults& results, const nlohmann::ordered_json& inputs,
                  const std::filesystem::path& journal);

}  // namespace attune
