// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "attune/error.h"
#include "base/line_output.h"
#include "base/locations.h"
#include "campaign/devices/device_view.h"
#include "cli/command.h"
#include "cli/flags/arguments.h"
#include "cli/flags/device_flags.h"
#include "cli/flags/problem_option.h"
#include "ops/op.h"
#include "ops/packed_weights.h"
#include "report/candidate_summary.h"
#include "report/json_output.h"
#include "report/result_json.h"
#include "report/result_table.h"
#include "search/prune.h"
#include "solver/contender.h"
#include "solver/one_thread_config.h"
#include "solver/registry.h"
#include "solver/static/static_contenders.h"
#include "store/journal.h"
#include "tables/near_rows.h"
#include "tables/passed_rows.h"
#include "tables/row_status.h"
#include "tables/table_lookup.h"

namespace attune {
namespace {

using nlohmann::ordered_json;

struct ExplainOptions {
  std::string problem, table, journal, require, info_file;
  DeviceChoice devices;
  bool json = false;
};

/// Reads the journal: the named one, else the user's if it exists.
CandidateSummary summary_of(const ExplainOptions& options, const Problem& problem, const DeviceView& view,
                            const std::vector<Contender>& here) {
  const auto file = options.journal.empty() ? journal_location().path : std::filesystem::path(options.journal);
  std::unique_ptr<Journal> journal;
  // With a table of rows the user's own journal only adds to the answer.
  const bool is_needed = !options.journal.empty() || options.table.empty();
  try {
    if (options.journal.empty()) check_access(home_location());
    if (!options.journal.empty() || std::filesystem::exists(file)) journal = open_sql_journal_read_only(file);
  } catch (const Error& error) {
    if (is_needed) throw;
    print_notes(std::vector{fmt::format("explained without the journal, {}", error.what())});
  }
  CandidateSummary summary = summarise_candidates(problem, view.device(), view.flags(), here, journal.get());
  note_damaged(summary.num_damaged, file);
  return summary;
}

/// `table`: that of the rows; null if there are none.
ordered_json steps_json(const LookupResult& found, const Table* table) {
  ordered_json steps = ordered_json::array();
  for (const LookupStep& step : found.steps) {
    ordered_json object = {{"match", name(step.match)}, {"key", step.key.key()}, {"remark", step.remark}};
    if (step.row) {
      object["row"] = place_of(*table, *step.row);
      object["line"] = step.row->line;
    }
    if (step.match == Match::predicted) object["regret_bound"] = step.regret_bound;
    steps.push_back(std::move(object));
  }
  return steps;
}

ordered_json row_json(const Table& table, const TableRow& row) {
  return {{"row", place_of(table, row)}, {"line", row.line}, {"key", row.problem.key()}, {"kernel", row.kernel_name}};
}

ordered_json passed_json(const std::vector<PassedRow>& passed, const Table* table) {
  ordered_json rows = ordered_json::array();
  for (const auto& [row, why] : passed) {
    rows.push_back(row_json(*table, *row));
    rows.back()["reason"] = why;
  }
  return rows;
}

ordered_json near_json(const std::vector<const TableRow*>& rows, const Table* table) {
  ordered_json near = ordered_json::array();
  for (const TableRow* row : rows) near.push_back(row_json(*table, *row));
  return near;
}

/// Returns `t.csv:17 kernel`.
std::string place_and_kernel(const Table& table, const TableRow& row) {
  return fmt::format("{} {}", place_of(table, row), row.kernel_name);
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

/// Rows that the lookup did not try.
struct RowsBeside {
  std::vector<PassedRow> passed;
  std::vector<const TableRow*> near;
};

void print_rows_beside(const Table& table, const RowsBeside& beside) {
  for (const auto& [row, why] : beside.passed)
    print_line(
        stdout,
        fmt::format("  not used       {}{}{}: {}", place_and_kernel(table, *row),
                    row->us ? fmt::format(", {} µs", *row->us) : "",
                    row->require == Requirement::none ? "" : fmt::format(", states {}", text(row->require)), why));
  for (const TableRow* row : beside.near)
    print_line(stdout,
               fmt::format("  near           {}  {}", short_shape(row->problem), place_and_kernel(table, *row)));
}

void print_tables(const LookupResult& found, const TableSet& set, const ExplainOptions& options,
                  const RowsBeside& beside) {
  const std::string& named = options.table;
  const std::string_view required = text(set.require);
  print_line(stdout,
             fmt::format("lookup in {}{}: {}", named.empty() ? "the tables of the run time" : named,
                         required.empty() ? "" : fmt::format(" of rows that state {}", required), name(found.match)));
  for (const std::string& file : set.files) print_line(stdout, "  table          " + file);
  const Table& table = set.tables.front();
  print_lookup(found, table);
  print_rows_beside(table, beside);
}

/// A row of packed weights may name another kernel than the winner of its shape.
void print_published(const LookupResult& found, const CandidateSummary& summary, const Problem& problem) {
  if (found.match != Match::exact || !summary.decision || !has_packed_weights(problem)) return;
  if (*found.candidate == summary.decision->winner) return;
  print_line(stdout, fmt::format("  published: {}{}, in the layout that all rows of the weight share; the winner is "
                                 "that of the shape alone",
                                 found.candidate->name(), found.row->us ? fmt::format(", {} µs", *found.row->us) : ""));
}

void print_summary(const CandidateSummary& summary, const Problem& problem, const std::string& device_flags,
                   const LookupResult& found) {
  if (summary.decision) {
    print_line(stdout, is_unfinished_tie(*summary.decision)
                           ? "not decided: the contest in the journal is unfinished, tune again to continue; so far:"
                           : "decision in the journal:");
    print_line(stdout, "  " + result_header(problem.op()));
    print_line(stdout, "  " + result_line(*summary.decision));
    for (const std::string& line : finalist_lines(*summary.decision)) print_line(stdout, "  " + line);
    for (const std::string& sentence : result_legend({&*summary.decision, 1})) print_line(stdout, "  " + sentence);
    print_published(found, summary, problem);
    print_line(stdout, "  repeat: " + repeat_command(problem, summary.decision->winner, device_flags));
  }
  print_line(stdout, "candidates by outcome:");
  uint64_t num_not_for_it = 0;
  std::string first;
  for (const auto& [reason, of_reason] : summary.reasons) {
    if (!reason.starts_with(kNotForProblem)) {
      print_line(stdout, fmt::format("  {:4}  {}  e.g. {}", of_reason.count, reason, of_reason.example));
      continue;
    }
    if (num_not_for_it == 0) first = reason.substr(kNotForProblem.size());
    num_not_for_it += of_reason.count;
  }
  if (num_not_for_it > 0)
    print_line(stdout, fmt::format("  {:4}  not for this problem (--json lists them), e.g. {}", num_not_for_it, first));
}

/// What explain finds out about a problem.
struct Explanation {
  Problem problem;
  std::vector<Contender> here;
  CandidateSummary summary;
  LookupResult found;
  RowsBeside beside;
  std::string unknown;                      ///< Missing facts of the row that serves; empty: none.
  bool is_default = false;                  ///< No row serves, and nothing is required.
  std::optional<Candidate> default_config;  ///< The candidate that then serves, if any.
};

/// The answer: what serves the problem.
void print_served(const Explanation& one, const TableSet& set) {
  if (one.found.row) {
    print_line(stdout, fmt::format("  served by {}, {} match", place_and_kernel(set.tables.front(), *one.found.row),
                                   name(one.found.match)));
  } else if (set.require != Requirement::none) {
    print_line(stdout, fmt::format("  served by a default kernel that states {}, if there is one", text(set.require)));
  } else if (one.is_default) {
    print_line(stdout, one.default_config ? "  served by a default config: " + one.default_config->name()
                                          : "  not served: no available solver supports the problem");
  }
}

/// Returns what the run time serves a problem with that has no row: the default config, of a small problem on one
/// thread.
std::optional<Candidate> served_without_row(const Problem& problem, const DeviceInfo& device,
                                            std::vector<Contender> here, const BanList& bans) {
  std::erase_if(here, [&](const Contender& one) {
    return bans.find(Candidate{one.solver, one.version, one.default_config}.name(), device.key(), problem.key()) !=
           nullptr;
  });
  auto served = default_candidate(problem, here);
  const Solver* solver = served ? registry().find(served->solver) : nullptr;
  if (solver == nullptr) return served;
  const auto config = one_thread_config(*solver, problem, served->config);
  if (config && !why_outside(find_contender(here, served->solver)->space, *config, problem, device))
    served->config = *config;
  return served;
}

/// Why it is not known here whether the row's candidate runs on a device that is not here.
std::optional<std::string> why_row_unknown(const LookupResult& found, const std::vector<Contender>& contenders) {
  return found.candidate ? why_unknown(*found.candidate, contenders) : std::nullopt;
}

std::string unknown_statement(Requirement required) {
  return fmt::format(
      "whether the row's kernel states that it is {} is known once it is compiled, see attune kernels "
      "build",
      text(required));
}

ordered_json elsewhere_json(const ExplainOptions& options, const LookupResult& found,
                            const std::vector<Contender>& contenders) {
  ordered_json object = {{"device_info", options.info_file}, {"plan", false}};
  if (const auto why = why_row_unknown(found, contenders)) object["unknown"] = *why;
  return object;
}

void print_elsewhere(const ExplainOptions& options, const LookupResult& found,
                     const std::vector<Contender>& contenders) {
  print_line(stdout,
             fmt::format("no plan is made: the device is as '{}' describes it, and is not opened", options.info_file));
  if (const auto why = why_row_unknown(found, contenders))
    print_line(stdout, fmt::format("whether the row's kernel runs there is not known here: {}", *why));
  if (!found.row) print_line(stdout, "what serves there without a row depends on the libraries there");
}

Explanation explain(const ExplainOptions& options, DeviceView& view, const TableSet& set, Problem problem) {
  const DeviceInfo& device = view.device();
  Explanation one;
  one.problem = std::move(problem);
  one.here = view.contenders(one.problem);
  one.summary = summary_of(options, one.problem, view, one.here);
  bool is_statement_known = true;
  const KernelCheck usable = [&](const Candidate& candidate) {
    auto why = view.why_unusable(candidate, one.problem, one.here);
    if (why && view.serves_stored(candidate, one.problem, one.here)) why.reset();
    if (why || set.require == Requirement::none || !view.is_here()) return why;
    const PlanStatement statement = view.statement_of(candidate, one.problem, set.require);
    is_statement_known = statement.is_known;
    return statement.why_not;
  };
  one.found = TableLookup(set, device).find(one.problem, usable);
  if (!is_statement_known) one.unknown = unknown_statement(set.require);
  one.is_default = !one.found.row && set.require == Requirement::none && view.is_here();
  if (one.is_default) one.default_config = served_without_row(one.problem, device, one.here, *set.bans);
  if (set.tables.empty()) return one;
  const Table& table = set.tables.front();
  one.beside.passed = passed_rows(table, one.found, device, set.require, usable, *set.bans);
  if (one.found.match != Match::exact) one.beside.near = near_rows(table, one.problem, device);
  return one;
}

void print_explanation_json(const Explanation& one, const ExplainOptions& options, const DeviceView& view,
                            const TableSet& set) {
  const Table* const table = set.tables.empty() ? nullptr : &set.tables.front();
  ordered_json object = {{"problem", one.problem.key()},
                         {"device", view.device().key()},
                         {"tables", options.table.empty() ? set.files : std::vector{options.table}},
                         {"match", name(one.found.match)},
                         {"steps", steps_json(one.found, table)},
                         {"not_used", passed_json(one.beside.passed, table)},
                         {"near", near_json(one.beside.near, table)},
                         {"summary", ordered_json::object()}};
  for (const auto& [reason, of_reason] : one.summary.reasons) object["summary"][reason] = of_reason.count;
  if (one.found.candidate) object["candidate"] = one.found.candidate->name();
  if (one.default_config) object["untuned"] = one.default_config->name();
  if (!one.unknown.empty()) object["unknown"] = one.unknown;
  if (!view.is_here()) object["elsewhere"] = elsewhere_json(options, one.found, one.here);
  if (one.summary.decision) {
    object["decision"] = ordered_json::parse(decision_json(*one.summary.decision, view.flags()));
    object["decision"]["decided"] = !is_unfinished_tie(*one.summary.decision);
  }
  print_json(object);
}

void print_explanation(const Explanation& one, const ExplainOptions& options, const DeviceView& view,
                       const TableSet& set) {
  const DeviceInfo& device = view.device();
  print_line(stdout, fmt::format("{} on {} ({})", one.problem.key(), device_text(device), device.model));
  print_served(one, set);
  if (!view.is_here()) print_elsewhere(options, one.found, one.here);
  if (set.tables.empty())
    print_line(stdout, "the run time has no tuned table of this op (see attune paths, or name one with -t)");
  else
    print_tables(one.found, set, options, one.beside);
  if (!one.unknown.empty()) print_line(stdout, "  " + one.unknown);
  print_summary(one.summary, one.problem, view.flags(), one.found);
}

int run_explain(const ExplainOptions& options) {
  DeviceView view({options.devices, options.info_file, {}});
  const Problem problem = parse_problem(options.problem, view.device());
  const FamilySpec* const family = find_family(problem.op());
  std::vector<std::string> named;
  if (!options.table.empty()) named.push_back(options.table);
  const TableSet set =
      read_table_set(named, std::string(family->op), std::span(&family, 1), options.require, &view.device());
  print_notes(set.notices);
  const Explanation one = explain(options, view, set, problem);
  if (options.json)
    print_explanation_json(one, options, view, set);
  else
    print_explanation(one, options, view, set);
  return 0;
}

void add_explain_flags(CLI::App& command, Action& chosen) {
  auto options = std::make_shared<ExplainOptions>();
  command.add_option("problem", options->problem, "Problem, such as \"gemm_a16w16 m=128 n=1536 k=7168 dtype=fp32\"")
      ->required();
  command.add_option("-t,--table", options->table,
                     "Tuned table, F:F2 for several; default: the tables of the run time");
  add_require_flag(command, options->require,
                   "Look up as a process that requires it: deterministic or batch-invariant; default: ATTUNE_REQUIRE");
  add_device_flags(command, options->devices);
  add_device_info_flag(command, options->info_file);
  command.add_option("--journal", options->journal, "Journal file; default: see `attune paths`");
  add_json_flag(command, options->json);
  command.footer(
      "The lookup is shown step by step. Beside it stand rows that no step tried:\n"
      "  not used                of the same key, and why it does not serve\n"
      "  near                    of the same N and K with another M, nearest first, then of the same M, N and K with\n"
      "                          another type or flag; listed when no row is exact, they serve other problems");
  command.callback([options, &chosen] { chosen = [options] { return run_explain(*options); }; });
}

}  // namespace

Command explain_command() {
  return {CommandGroup::inspect, "explain",
          "Show which row of a table serves a problem and why, and the outcome of every candidate", add_explain_flags};
}

}  // namespace attune
