// SPDX-License-Identifier: MIT
#include "report/evidence_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "formats/csv/csv_document.h"
#include "formats/csv/published_row.h"
#include "formats/csv/table_columns.h"
#include "solver/registry.h"
#include "solver/solver.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kEvidenceColumns = {
    "stage",   "status",        "dropped",         "spread_us", "max_relative_error",
    "samples", "clean_samples", "workspace_bytes", "detail"};

/// Returns the cells of kEvidenceColumns.
std::vector<std::string> evidence_cells(const Record& record) {
  const Outcome& outcome = record.outcome;
  std::string spread, samples, clean, workspace;
  if (outcome.measurement) {
    const Measurement& measured = *outcome.measurement;
    size_t num_clean = 0;
    for (const Sample& sample : measured.samples) num_clean += !sample.dirty;
    spread = fmt::format("{:.4f}", measured.spread_us);
    samples = std::to_string(measured.samples.size());
    clean = std::to_string(num_clean);
    workspace = std::to_string(measured.workspace_bytes);
  }
  return {std::string(name(record.stage)),
          std::string(name(outcome.status)),
          record.dropped ? "1" : "0",
          spread,
          fmt::format("{}", outcome.errors.max_relative),
          samples,
          clean,
          workspace,
          outcome.detail};
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::vector<std::string> quoted;
  for (const std::string& cell : cells) quoted.push_back(csv_cell(cell));
  return join(quoted, ",") + "\n";
}

double median_us(const Record& record) {
  return record.outcome.ok() && record.outcome.measurement ? record.outcome.measurement->median_us : 0;
}

Query records_of(const Problem& problem, const MeasuredProblems& measured) {
  return {.problem = problem,
          .device = measured.device.key(),
          .protocol = measured.protocol,
          .started = false,
          .decisions = false,
          .pardons = false};
}

/// Starts a script of write_kept(), by which a later run knows it.
constexpr std::string_view kScriptMark = "# attune tune --keep: ";

bool is_script(const fs::path& file) {
  std::string start(kScriptMark.size(), '\0');
  return std::ifstream(file).read(start.data(), static_cast<std::streamsize>(start.size())) && start == kScriptMark;
}

/// The name, or `name_2.py` and so on: the first that is neither used in this run nor a file of somebody else.
fs::path script_file(const fs::path& folder, const std::string& name, std::set<fs::path>& used) {
  const fs::path wanted = folder / name;
  for (int number = 1;; ++number) {
    fs::path file = wanted;
    if (number > 1)
      file.replace_filename(fmt::format("{}_{}{}", wanted.stem().string(), number, wanted.extension().string()));
    std::error_code missing;
    const auto type = fs::symlink_status(file, missing).type();
    if (type != fs::file_type::not_found && !(type == fs::file_type::regular && is_script(file))) continue;
    if (used.insert(file).second) return file;
  }
}

/// The CSV of write_profile(), a record at a time.
class ProfileText {
 public:
  explicit ProfileText(const MeasuredProblems& measured)
      : measured_(measured), columns_(new_table_header(measured.family)) {
    std::vector<std::string> all = columns_;
    all.insert(all.end(), kEvidenceColumns.begin(), kEvidenceColumns.end());
    all.emplace_back("run");
    text_ = csv_line(all);
  }
  void add(const Record& record, const Stamp& stamp) {
    PublishedRow row =
        published_row(record.problem, record.candidate, median_us(record), record.outcome.errors.mismatch_ratio);
    row.gfx = measured_.device.gfx;
    row.num_units = measured_.device.num_units;
    row.model = measured_.device.model;
    std::vector<std::string> cells;
    for (const std::string& column : columns_) {
      const bool of_time = column == "us" || column == "tflops" || column == "bw";
      // Without a time the cell stays empty: a failed candidate must not look fast.
      cells.push_back(of_time && row.us <= 0 ? "" : table_cell(measured_.family, row, column).value_or(""));
    }
    for (std::string& cell : evidence_cells(record)) cells.push_back(std::move(cell));
    cells.push_back(std::to_string(stamp.run));
    text_ += csv_line(cells);
  }
  const std::string& text() const noexcept { return text_; }

 private:
  const MeasuredProblems& measured_;
  const std::vector<std::string> columns_;  ///< Of the table.
  std::string text_;
};

using TimesOfSolvers = std::map<std::string, std::map<Config, double>>;

/// Adds a record that was right, of a solver's present version.
void add_time(TimesOfSolvers& times, const Record& record, const Registry& solvers) {
  const double us = median_us(record);
  if (us <= 0) return;
  const Solver* const solver = solvers.find(record.candidate.solver);
  if (solver == nullptr || solver->version() != record.candidate.version) return;
  const auto [at, is_new] = times[record.candidate.solver].emplace(record.candidate.config, us);
  if (!is_new) at->second = std::min(at->second, us);
}

/// `used`: the files of this run so far.
void write_scripts(const fs::path& folder, const Problem& problem, const TimesOfSolvers& times,
                   const DeviceInfo& device, const Registry& solvers, std::set<fs::path>& used) {
  for (const auto& [id, configs] : times) {
    const Solver* const solver = solvers.find(id);
    const StaticSpace* const stated = solver->static_space();
    if (stated == nullptr || stated->script(problem, {}).name.empty()) continue;
    const SearchSpace space = stated->space(problem, device);
    std::vector<TimedConfig> timed;
    for (const auto& [config, us] : configs) {
      if (!space.index_of(config)) continue;  // Of a file.
      const auto tasks = solver->compile_tasks(problem, config, device);
      timed.push_back({config, us, tasks.empty() ? "" : tasks.front().recipe()});
    }
    std::ranges::stable_sort(timed, {}, &TimedConfig::us);
    const KeptScript script = stated->script(problem, timed);
    if (script.name.empty()) continue;
    write_file_atomically(script_file(folder, script.name, used),
                          fmt::format("{}{}\n{}", kScriptMark, problem.key(), script.text));
  }
}

}  // namespace

void check_evidence_output(const fs::path& file) {
  check_output(file);
  std::error_code missing;
  if (!fs::is_regular_file(file, missing) || fs::file_size(file, missing) == 0) return;
  const CsvDocument old = CsvDocument::read(file);
  for (const std::string& column : kEvidenceColumns) {
    if (!old.find_column(column))
      fail(ErrorCode::invalid_input, "the file exists and does not hold candidates, name another: '{}'",
           shown(file.string(), 500));
  }
}

std::pair<std::string, size_t> records_csv(const Journal& journal, const Query& query) {
  std::vector<std::string> columns = {"device", "problem", "candidate", "us", "errRatio"};
  columns.insert(columns.end(), kEvidenceColumns.begin(), kEvidenceColumns.end());
  std::string text = csv_line(columns);
  Query records = query;
  records.started = records.decisions = records.pardons = false;
  const size_t num_damaged = journal.scan(records, [&](const Entry& entry, const Stamp&) {
    const auto& record = std::get<Record>(entry);
    const double us = median_us(record);
    std::vector<std::string> cells = {record.device, record.problem.key(), record.candidate.name(),
                                      us > 0 ? fmt::format("{:.4f}", us) : "",
                                      fmt::format("{}", record.outcome.errors.mismatch_ratio)};
    for (std::string& cell : evidence_cells(record)) cells.push_back(std::move(cell));
    text += csv_line(cells);
  });
  return {std::move(text), num_damaged};
}

void write_kept(const fs::path& folder, const Journal& journal, const MeasuredProblems& measured,
                const Registry& solvers) {
  ProfileText profile(measured);
  std::set<fs::path> used;
  for (const Problem& problem : measured.problems) {
    TimesOfSolvers times;
    journal.scan(records_of(problem, measured), [&](const Entry& entry, const Stamp& stamp) {
      const auto& record = std::get<Record>(entry);
      profile.add(record, stamp);
      add_time(times, record, solvers);
    });
    write_scripts(folder, problem, times, measured.device, solvers, used);
  }
  write_file_atomically(folder / kKeptCandidates, profile.text());
}

void write_profile(const fs::path& file, const Journal& journal, const MeasuredProblems& measured) {
  ProfileText profile(measured);
  for (const Problem& problem : measured.problems) {
    journal.scan(records_of(problem, measured),
                 [&](const Entry& entry, const Stamp& stamp) { profile.add(std::get<Record>(entry), stamp); });
  }
  write_file_atomically(file, profile.text());
}

}  // namespace attune
