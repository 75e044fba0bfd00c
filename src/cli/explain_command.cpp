// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "attune/error.h"
#include "base/line_output.h"
#include "base/locations.h"
#include "base/text.h"
#include "campaign/open_devices.h"
#include "cli/command.h"
#include "cli/problem_option.h"
#include "dispatch/table/lookup.h"
#include "dispatch/table/near_rows.h"
#include "dispatch/table/prediction.h"
#include "measure/contenders.h"
#include "ops/op.h"
#include "report/json_output.h"
#include "report/result_json.h"
#include "report/result_table.h"
#include "search/prune.h"
#include "solver/contender.h"
#include "store/journal.h"
#include "tables/runtime_tables.h"

namespace attune {
namespace {

using nlohmann::ordered_json;

struct ExplainOptions {
  std::string problem, table, devices, journal;
  bool json = false;
};

/// Number of candidates by outcome: rules count before measuring, the journal after.
struct CandidateSummary {
  std::map<std::string, uint64_t> counts;      ///< Reason → number of candidates.
  std::map<std::string, std::string> example;  ///< Reason → an example: a solver, or a repeating command.
  std::optional<Decision> decision;
};

void add_to_summary(CandidateSummary& summary, const std::string& reason, const std::string& example,
                    uint64_t count = 1) {
  summary.counts[reason] += count;
  summary.example.emplace(reason, example);
}

CandidateSummary summary_of(const ExplainOptions& options, const Problem& problem, const DeviceInfo& device,
                            const std::vector<Contender>& here) {
  CandidateSummary summary;
  for (const Contender& contender : here) {
    if (!contender.support.yes) {
      add_to_summary(summary, "not for this problem: " + contender.solver + " " + contender.support.reason,
                     contender.solver);
      continue;
    }
    const auto pruned = prune(contender.space, problem, device, 0);
    for (const Rule& rule : contender.space.rules()) {
      if (const auto found = pruned.rejected_by.find(rule.id); found != pruned.rejected_by.end()) {
        add_to_summary(summary, "left out by rule " + rule.id + ": " + rule.reason, contender.solver, found->second);
      }
    }
  }
  const auto file = options.journal.empty() ? journal_location().path : std::filesystem::path(options.journal);
  if (options.journal.empty() && !std::filesystem::exists(file)) return summary;
  std::map<std::string, std::string> last;  // Each candidate counts once, with its last record.
  const size_t num_damaged = open_sql_journal_read_only(file)->scan(
      {.problem = problem, .device = device.key(), .started = false, .pardons = false},
      [&](const Entry& entry, const Stamp&) {
        if (const auto* decision = std::get_if<Decision>(&entry)) summary.decision = *decision;
        const auto* record = std::get_if<Record>(&entry);
        if (!record) return;
        std::string& reason = last[record->candidate.name()];
        if (!record->outcome.ok())
          reason = "failed: " + std::string(name(record->outcome.status)) +
                   (record->outcome.detail.empty() ? "" : " (" + record->outcome.detail + ")");
        else if (record->dropped)
          reason = "slower in the race";
        else if (record->stage == Stage::final)
          reason = "a finalist";
        else
          reason = "verified";
      });
  note_damaged(num_damaged, file);
  for (const auto& [candidate, reason] : last) {
    add_to_summary(summary, reason, repeat_command(problem, Candidate::parse(candidate), device.id));
  }
  return summary;
}

/// The tables to search: the named ones, else those of the run time, of which wrong ones are skipped as the run time
/// does.
struct LookupTables {
  std::optional<Table> table;
  std::string name;
  std::vector<std::string> files;  ///< `default configs/bf16_tuned_gemm.csv`
};

LookupTables tables_of(const ExplainOptions& options, const FamilySpec& family) {
  if (!options.table.empty()) return {Table::read(options.table, &family), options.table, {options.table}};
  RuntimeTables tables = read_runtime_tables(family);
  print_notes(left_out_notices(tables));
  LookupTables here{std::move(tables.table), "the tables of the run time", {}};
  for (size_t i = 0; i < tables.sources.files.size(); ++i) {
    const TableSource& source = tables.sources.files[i];
    if (tables.wrong[i].empty()) here.files.push_back(fmt::format("{} {}", name(source.origin), source.file.string()));
  }
  return here;
}

ordered_json steps_json(const LookupResult& found) {
  ordered_json steps = ordered_json::array();
  for (const LookupStep& step : found.steps) {
    ordered_json object = {{"match", name(step.match)}, {"key", step.key.key()}, {"remark", step.remark}};
    if (step.row) object["line"] = step.row->line;
    if (step.match == Match::predicted) object["regret_bound"] = step.regret_bound;
    steps.push_back(std::move(object));
  }
  return steps;
}

ordered_json near_json(const std::vector<const TableRow*>& rows) {
  ordered_json near = ordered_json::array();
  for (const TableRow* row : rows)
    near.push_back({{"line", row->line}, {"key", row->problem.key()}, {"kernel", row->kernel_name}});
  return near;
}

/// Returns `t.csv:17 kernel`.
std::string place_and_kernel(const Table& table, const TableRow& row) {
  return fmt::format("{}:{} {}", table.documents()[row.file].name(), row.line, row.kernel_name);
}

void print_lookup(const LookupResult& found, const Table& table) {
  for (const LookupStep& step : found.steps) {
    std::string what = step.row ? place_and_kernel(table, *step.row) : "";
    if (step.match == Match::predicted)
      what += fmt::format(", at most {:.0f} % slower than the best", 100 * step.regret_bound);
    if (!step.remark.empty()) what += (what.empty() ? "" : ", not used: ") + step.remark;
    print_line(stdout, fmt::format("  {:<14} {}  {}", name(step.match), short_shape(step.key), what));
  }
}

void print_rows_beside(const LookupResult& found, const Table& table, const DeviceInfo& device,
                       const std::vector<const TableRow*>& near) {
  if (found.row) {
    for (const TableRow* row : table.all(found.steps.back().key, device.gfx, device.num_units)) {
      if (row == found.row) continue;
      print_line(stdout, fmt::format("  not used       {}, {}", place_and_kernel(table, *row),
                                     row->us ? fmt::format("{} µs", *row->us) : "its time is unusable"));
    }
  }
  for (const TableRow* row : near)
    print_line(stdout,
               fmt::format("  near           {}  {}", short_shape(row->problem), place_and_kernel(table, *row)));
}

int run_explain(const ExplainOptions& options) {
  Environment environment = open_environment(options.devices, Isolation::none);
  const DeviceInfo& device = environment.device();
  const Problem problem = parse_problem(options.problem, device);
  const auto here = contenders(*environment.executor, problem, {});
  const auto usable = [&](const Candidate& candidate) { return why_unusable(candidate, problem, here, device); };
  const CandidateSummary summary = summary_of(options, problem, device, here);
  const LookupTables looked = tables_of(options, op_of(problem).family());
  const std::optional<Table>& table = looked.table;
  LookupResult found;
  std::vector<const TableRow*> near;
  if (table) {
    print_notes(table->notices());
    const MaxRegret max_regret = max_regret_wanted();
    if (!max_regret.complaint.empty()) print_notes(std::span(&max_regret.complaint, 1));
    const TableGroups groups(*table, device, max_regret.share);
    found = look_up(*table, problem, device, usable, &groups);
    if (found.match != Match::exact) near = near_rows(*table, problem, device);
  }
  if (options.json) {
    ordered_json object = {{"problem", problem.key()},   {"device", device.key()},     {"tables", looked.files},
                           {"match", name(found.match)}, {"steps", steps_json(found)}, {"near", near_json(near)},
                           {"summary", summary.counts}};
    if (found.candidate) object["candidate"] = found.candidate->name();
    if (summary.decision) object["decision"] = ordered_json::parse(decision_json(*summary.decision, device.id));
    print_json(object);
    return 0;
  }
  std::printf("%s on %s (%s)\n", problem.key().c_str(), device.key().c_str(), device.model.c_str());
  if (!table) print_line(stdout, "the run time has no tuned table of this op (see attune paths, or name one with -t)");
  if (table) {
    print_line(stdout, fmt::format("lookup in {}: {}", looked.name, name(found.match)));
    for (const std::string& file : looked.files) {
      if (options.table.empty()) print_line(stdout, "  table          " + file);
    }
    print_lookup(found, *table);
    print_rows_beside(found, *table, device, near);
    if (!found.row) {
      const auto found_default = untuned_candidate(problem, here);
      std::printf("  served by the default: %s\n",
                  found_default ? found_default->name().c_str() : "no available solver supports the problem");
    }
  }
  if (summary.decision) {
    std::printf("decided in the journal:\n  %s\n  %s\n", result_header().c_str(),
                result_line(*summary.decision).c_str());
    for (const Finalist& finalist : summary.decision->finalists) {
      std::printf("  %10.2f µs  %.3f× [%.3f, %.3f]  %s\n", finalist.us, finalist.ratio, finalist.ratio_low,
                  finalist.ratio_high, finalist.candidate.name().c_str());
    }
    std::printf("  repeat: %s\n", repeat_command(problem, summary.decision->winner, device.id).c_str());
  }
  std::printf("candidates by outcome:\n");
  for (const auto& [reason, count] : summary.counts) {
    print_line(stdout, fmt::format("  {:4}  {}  e.g. {}", count, reason, summary.example.at(reason)));
  }
  return 0;
}

}  // namespace

void add_explain_command(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<ExplainOptions>();
  auto* verb = app.add_subcommand(
      "explain", "Show which row of a table serves a problem and why, and the outcome of every candidate");
  verb->add_option("problem", options->problem, "Such as \"gemm_a16w16 m=128 n=1536 k=7168 dtype=fp32\"")->required();
  verb->add_option("-t,--table", options->table,
                   "Tuned table; F:F2 for several; default: those that the run time uses");
  verb->add_option("--devices,--device", options->devices, "cpu:0 (default) or fake:0");
  verb->add_option("--journal", options->journal, "Journal file; default: attune paths");
  verb->add_flag("--json", options->json, "Machine-readable");
  verb->callback([options, &chosen] { chosen = [options] { return run_explain(*options); }; });
}

}  // namespace attune
