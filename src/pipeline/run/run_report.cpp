// SPDX-License-Identifier: MIT
#include "pipeline/run/run_report.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "core/statistics.h"
#include "device/devices.h"
#include "pipeline/run/journal_extract.h"
#include "report/document/html_report.h"
#include "report/document/journal_model.h"
#include "report/document/json_report.h"
#include "report/document/junit_report.h"
#include "report/document/markdown_report.h"
#include "report/result_table.h"
#include "store/journal.h"

namespace attune {
namespace {

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
          .baseline = report_of(shape.after.baseline, "", shape.default_us),
          .speedup = result.speedup,
          .interval = result.interval,
          .attempts = result.attempts,
          .num_pairs = result.num_pairs};
}

/// Returns the result of `read` on the journal; nothing if the journal is missing or cannot be read. The run must still
/// report its verdicts, which do not come from there.
template <typename Read>
auto from_journal(const std::filesystem::path& file, Read read) -> decltype(read(std::declval<const Journal&>())) {
  std::error_code missing;
  if (!std::filesystem::exists(file, missing)) return {};
  try {
    return read(*open_sql_journal_read_only(file));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal) throw;
    return {};
  }
}

/// The journal's data on a run's shapes: the entries after `after`, with which the run began, so that its end does not
/// wait for a journal of years. Includes earlier decisions on shapes that the run did not decide.
ReportModel model_of_run(const RunResults& results, const std::filesystem::path& file, int64_t after) {
  JournalModelOptions how{.after = after};
  for (const FamilyResult& family : results.families) {
    if (!family.device.empty()) how.device = family.device;
    for (const ShapeChange& shape : family.shapes) how.problems.insert(shape.problem.key());
  }
  if (how.problems.empty()) return {};
  const std::vector<DeviceInfo> devices = list_devices();
  how.devices = devices;
  return from_journal(file, [&](const Journal& journal) { return model_of(journal, how); });
}

/// The entries of a run; tens of megabytes at most.
std::string extract_of_run(const std::filesystem::path& file, const RunFolder& folder) {
  constexpr size_t kMaxEntries = 20'000;
  return from_journal(file, [&](const Journal& journal) {
    return journal_extract(journal, folder.journal_entry(), folder.callers(), kMaxEntries);
  });
}

}  // namespace

ReportPipeline report_of(const RunResults& results, const nlohmann::ordered_json& inputs) {
  ReportPipeline pipeline{.ending = results.ending, .inputs = inputs.dump(), .status = results.status};
  for (size_t i = 0; i < results.families.size(); ++i) {
    const FamilyResult& family = results.families[i];
    ReportFamily one{.family = std::string(family.family->op),
                     .device = family.device,
                     .fingerprint = family.fingerprint,
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
  const int64_t began = folder.journal_entry();
  ReportModel model = model_of_run(results, journal, began);
  model.pipeline = report_of(results, inputs);
  write_file_atomically(folder.file(RunFolder::kPage), html_text(model));
  write_file_atomically(folder.file(RunFolder::kSummary), markdown_text(model));
  write_file_atomically(folder.file(RunFolder::kTests), junit_text(model));
  write_file_atomically(folder.file(RunFolder::kJournal), extract_of_run(journal, folder));
  write_file_atomically(folder.file(RunFolder::kResults), report_json(model));
}

}  // namespace attune
