// SPDX-License-Identifier: MIT
#include "pipeline/run/run_report.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "core/statistics.h"
#include "device/devices.h"
#include "report/document/html_report.h"
#include "report/document/journal_model.h"
#include "report/document/json_report.h"
#include "report/document/junit_report.h"
#include "report/document/markdown_report.h"
#include "report/result_table.h"
#include "store/journal.h"

namespace attune {
namespace {

/// The end of a run is not to wait for a journal of years: some 7 s of reading.
constexpr int64_t kMaxJournalEntries = 100'000;

ReportKernel report_of(const Candidate& kernel, const std::string& row, const std::vector<double>& us) {
  return {kernel.solver.empty() ? "" : kernel.name(), row, us.empty() ? 0 : geometric_mean(us)};
}

ReportChange report_of(const ShapeChange& shape, const ChangeResult& result) {
  return {.problem = shape.problem.key(),
          .shape = short_shape(shape.problem),
          .verdict = parse_report_verdict(name(result.verdict)).value(),
          .reason = shape.reason,
          .before = report_of(shape.before.served, shape.before.row, shape.before_us),
          .after = report_of(shape.after.served, shape.after.row, shape.after_us),
          .untuned = report_of(shape.after.untuned, "", shape.untuned_us),
          .speedup = result.speedup,
          .interval = result.interval,
          .attempts = result.attempts,
          .num_pairs = result.num_pairs};
}

ReportModel model_of_run(const RunResults& results, const std::filesystem::path& file) {
  JournalModelOptions how{.max_entries = kMaxJournalEntries};
  for (const FamilyResult& family : results.families) {
    for (const ShapeChange& shape : family.shapes) how.problems.insert(shape.problem.key());
  }
  std::error_code missing;
  if (how.problems.empty() || !std::filesystem::exists(file, missing)) return {};
  const std::vector<DeviceInfo> devices = list_devices();
  how.devices = devices;
  try {
    return model_of(*open_sql_journal_read_only(file), how);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal) throw;
    return {};  // The verdicts are what the run is for, and they do not come from there.
  }
}

}  // namespace

ReportPipeline report_of(const RunResults& results, const nlohmann::ordered_json& inputs) {
  ReportPipeline pipeline{.ending = results.ending, .inputs = inputs.dump(), .status = results.status};
  for (size_t i = 0; i < results.families.size(); ++i) {
    const FamilyResult& family = results.families[i];
    ReportFamily one{.family = std::string(family.family->op),
                     .device = family.device,
                     .failure = family.failure,
                     .is_done = family.is_done,
                     .num_findings = family.num_findings,
                     .num_added = family.num_added,
                     .num_changed = family.num_changed,
                     .num_removed = family.num_removed,
                     .num_same = family.num_same};
    for (size_t s = 0; s < family.shapes.size(); ++s)
      one.changes.push_back(report_of(family.shapes[s], results.verdicts[i][s]));
    pipeline.families.push_back(std::move(one));
  }
  return pipeline;
}

void write_report(const RunFolder& folder, const RunResults& results, const nlohmann::ordered_json& inputs,
                  const std::filesystem::path& journal) {
  ReportModel model = model_of_run(results, journal);
  model.pipeline = report_of(results, inputs);
  write_file_atomically(folder.file(RunFolder::kPage), html_text(model));
  write_file_atomically(folder.file(RunFolder::kSummary), markdown_text(model));
  write_file_atomically(folder.file(RunFolder::kTests), junit_text(model));
  write_file_atomically(folder.file(RunFolder::kResults), report_json(model));
}

}  // namespace attune
