// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/line_output.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "device/devices.h"
#include "dispatch/table/lookup.h"
#include "formats/csv/untuned_table.h"
#include "report/json_output.h"
#include "solver/registry.h"
#include "tables/captured_sources.h"
#include "tables/row_status.h"
#include "tables/runtime_tables.h"
#include "tables/table_lookup.h"

namespace attune {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

struct CoverageOptions {
  std::vector<std::string> captured, tables;
  std::string op, device;
  size_t top = 10;
  bool json = false;
};

/// A row of this device that no lookup uses.
struct UnusedRow {
  std::string place;  ///< `t.csv:17`
  std::string kind;   ///< Category for counting: `has no usable time`.
  std::string detail;
  Problem problem;
};

/// Number of shapes and calls of captured shapes that are served in the same way.
struct ServedShapes {
  size_t num_shapes = 0;
  uint64_t calls = 0;
};

struct Coverage {
  size_t num_rows = 0;  ///< Rows of this device.
  std::vector<UnusedRow> lost;
  std::map<Match, ServedShapes> served;
  size_t num_shapes = 0;
  uint64_t calls = 0;
  std::vector<const CalledShape*> unserved;  ///< Most called first.
};

std::string place_of(const Table& table, const TableRow& row) {
  return fmt::format("{}:{}", table.documents()[row.file].name(), row.line);
}

/// Returns why a candidate cannot run, as far as known without opening a library: from the solver's own version and its
/// support of the problem.
std::optional<std::string> why_not_here(const Candidate& candidate, const Problem& problem, const DeviceInfo& device) {
  const Solver* solver = registry().find(candidate.solver);
  if (!solver) return "no solver of that name is available here: " + candidate.solver;
  const std::string_view version = std::string_view(candidate.version).substr(0, candidate.version.find('+'));
  if (version != solver->version())
    return fmt::format("made with {} {}, here is {}", candidate.solver, version, solver->version());
  if (const Support support = solver->supports(problem, device); !support.yes)
    return fmt::format("{} {}", candidate.solver, support.reason);
  return std::nullopt;
}

/// Returns why a lookup skips the kernel of a row that it finds, or why no problem can have the row's key.
std::optional<std::string> why_passed_over(const TableRow& row, const DeviceInfo& device) {
  std::optional<Candidate> candidate;
  try {
    candidate = Candidate::parse(row.kernel_name);
  } catch (const Error&) {
    return "its kernel is not one of this program: '" + shown(row.kernel_name) + "'";
  }
  try {
    return why_not_here(*candidate, as_looked_up(row.problem, device), device);
  } catch (const Error& error) {
    return fmt::format("no problem has its key: {}", error.what());
  }
}

std::optional<UnusedRow> lost_row(const Table& table, const RowReport& one, const DeviceInfo& device) {
  UnusedRow lost{place_of(table, *one.row), std::string(name(one.status)), "", one.row->problem};
  if (one.status == RowStatus::taken) {
    const auto why = why_passed_over(*one.row, device);
    if (!why) return std::nullopt;
    lost.kind = "cannot be used here";
    lost.detail = *why;
  } else if (one.by) {
    lost.detail = fmt::format("{} wins, {} µs", place_of(table, *one.by), *one.by->us);
  } else if (one.status == RowStatus::tagged) {
    lost.detail = one.row->tag;
  } else if (one.status == RowStatus::other_model) {
    lost.detail = one.row->device;
  }
  return lost;
}

void look_at_rows(Coverage& coverage, const Table& table, const DeviceInfo& device) {
  for (const RowReport& one : row_statuses(table, &device)) {
    if (one.status == RowStatus::other_device) continue;
    ++coverage.num_rows;
    if (auto lost = lost_row(table, one, device)) coverage.lost.push_back(std::move(*lost));
  }
}

/// Returns the step of the lookup that serves the shape; fallback: no row does.
Match match_of(const CalledShape& shape, const TableLookup& tables, const DeviceInfo& device) {
  const Problem problem = as_looked_up(shape.problem, device);
  const auto usable = [&](const Candidate& candidate) { return why_not_here(candidate, problem, device); };
  return tables.find(problem, usable).result.match;
}

void look_at_shapes(Coverage& coverage, const std::vector<CapturedShapes>& captured, const std::vector<Table>& tables,
                    const DeviceInfo& device) {
  const TableLookup lookup(tables, device);
  for (const CapturedShapes& one : captured) {
    for (const CalledShape& shape : one.shapes) {
      const Match match = match_of(shape, lookup, device);
      ServedShapes& served = coverage.served[match];
      ++served.num_shapes;
      served.calls += shape.calls;
      ++coverage.num_shapes;
      coverage.calls += shape.calls;
      if (match == Match::fallback) coverage.unserved.push_back(&shape);
    }
  }
  std::stable_sort(coverage.unserved.begin(), coverage.unserved.end(),
                   [](const CalledShape* one, const CalledShape* other) { return one->calls > other->calls; });
}

/// Quotes a word of a command line for a shell.
std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,+=@%-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// Returns the table that new rows belong to: the first one that the verb or a variable names; empty: the family's
/// default file.
std::string output_for(const FamilySpec& family, const std::vector<Table>& tables, const CoverageOptions& options) {
  if (options.tables.empty()) {
    const auto sources = table_sources(family);
    return sources.variable.empty() || sources.files.empty() ? "" : sources.files.front().file.string();
  }
  const auto own =
      std::find_if(tables.begin(), tables.end(), [&](const Table& table) { return table.family().op == family.op; });
  return own == tables.end() ? std::string(family.default_file) : own->documents().front().name();
}

/// Returns the commands that tune a family's captured shapes.
std::vector<std::string> tune_commands(const FamilySpec& family, const std::vector<Table>& tables,
                                       const CoverageOptions& options) {
  const auto sources = capture_sources(options.captured);
  std::vector<std::string> commands;
  std::error_code missing;
  fs::path input = sources.front();
  if (fs::is_directory(input, missing)) input /= untuned_file_name(family);
  if (sources.size() > 1 || !fs::exists(input, missing)) {
    input = untuned_file_name(family);
    std::string merge = fmt::format("attune capture merge -o {} --op {}", input.string(), family.op);
    for (const fs::path& source : sources) merge += " " + shell_word(source.string());
    commands.push_back(merge);
  }
  std::string tune = fmt::format("attune tune -i {} --op {}", shell_word(input.string()), family.op);
  if (const std::string output = output_for(family, tables, options); !output.empty())
    tune += " -o " + shell_word(output);
  if (!options.device.empty() && options.device != "cpu:0") tune += " --devices " + shell_word(options.device);
  commands.push_back(tune);
  return commands;
}

/// Returns the commands for families with unserved shapes, as far as this build can tune them.
std::vector<std::string> all_commands(const Coverage& coverage, const std::vector<Table>& tables,
                                      const CoverageOptions& options) {
  std::vector<std::string> commands;
  for (const FamilySpec& family : families()) {
    const auto is_its = [&](const CalledShape* shape) { return shape->problem.op() == family.op; };
    if (!family.tunable || std::none_of(coverage.unserved.begin(), coverage.unserved.end(), is_its)) continue;
    for (std::string& command : tune_commands(family, tables, options)) commands.push_back(std::move(command));
  }
  return commands;
}

double share(uint64_t part, uint64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

constexpr Match kSteps[] = {Match::exact, Match::padded_fine, Match::padded_coarse, Match::predicted, Match::fallback};
std::string_view step_name(Match match) { return match == Match::fallback ? "none" : name(match); }
ServedShapes served_by(const Coverage& coverage, Match match) {
  const auto found = coverage.served.find(match);
  return found == coverage.served.end() ? ServedShapes() : found->second;
}

/// `--top 0` prints all.
size_t num_printed(size_t count, const CoverageOptions& options) {
  return options.top > 0 ? std::min(options.top, count) : count;
}

void print_coverage_json(const Coverage& coverage, const std::vector<std::string>& commands,
                         const CoverageOptions& options, const DeviceInfo& device) {
  ordered_json lost = ordered_json::array(), served = ordered_json::object(), unserved = ordered_json::array();
  for (const UnusedRow& row : coverage.lost)
    lost.push_back({{"row", row.place}, {"key", row.problem.key()}, {"reason", row.kind}, {"detail", row.detail}});
  for (const Match match : kSteps) {
    const ServedShapes one = served_by(coverage, match);
    served[std::string(step_name(match))] = {
        {"num_shapes", one.num_shapes}, {"calls", one.calls}, {"calls_share", share(one.calls, coverage.calls)}};
  }
  for (size_t i = 0; i < num_printed(coverage.unserved.size(), options); ++i)
    unserved.push_back({{"problem", coverage.unserved[i]->problem.key()}, {"calls", coverage.unserved[i]->calls}});
  print_json({{"device", device.key()},
              {"num_rows", coverage.num_rows},
              {"num_unreachable", coverage.lost.size()},
              {"unreachable", lost},
              {"num_shapes", coverage.num_shapes},
              {"calls", coverage.calls},
              {"served", served},
              {"without_row", unserved},
              {"commands", commands}});
}

void print_rows(const Coverage& coverage, const CoverageOptions& options, const DeviceInfo& device) {
  print_line(stdout, fmt::format("{} of {}, {} that no lookup can reach", counted(coverage.num_rows, "row"),
                                 device.key(), coverage.lost.size()));
  std::map<std::string, size_t> counts;
  for (const UnusedRow& row : coverage.lost) ++counts[row.kind];
  for (const auto& [kind, count] : counts) print_line(stdout, fmt::format("  {:>8}  {}", count, kind));
  const size_t num_shown = num_printed(coverage.lost.size(), options);
  for (size_t i = 0; i < num_shown; ++i) {
    const UnusedRow& row = coverage.lost[i];
    print_line(stdout, fmt::format("  {}  {}{}  {}", row.place, row.kind, row.detail.empty() ? "" : ": " + row.detail,
                                   row.problem.key()));
  }
  if (num_shown < coverage.lost.size())
    print_line(stdout, fmt::format("  and {} more: --top 0 or --json", coverage.lost.size() - num_shown));
}

void print_shapes(const Coverage& coverage, const std::vector<std::string>& commands, const CoverageOptions& options) {
  if (coverage.num_shapes == 0) {
    print_line(stdout, "no shapes were captured in " + list_of(capture_sources(options.captured)));
    return;
  }
  print_line(stdout, fmt::format("{} captured, {} calls", counted(coverage.num_shapes, "shape"), coverage.calls));
  print_line(stdout, fmt::format("  {:<13}  {:>8}  {:>12}  {:>7}", "row", "shapes", "calls", ""));
  for (const Match match : kSteps) {
    const ServedShapes one = served_by(coverage, match);
    print_line(stdout, fmt::format("  {:<13}  {:>8}  {:>12}  {:>6.1f}%", step_name(match), one.num_shapes, one.calls,
                                   100 * share(one.calls, coverage.calls)));
  }
  if (coverage.unserved.empty()) return;
  const size_t num_shown = num_printed(coverage.unserved.size(), options);
  print_line(stdout, fmt::format("without a row, most called first ({} of {}):", num_shown, coverage.unserved.size()));
  for (size_t i = 0; i < num_shown; ++i)
    print_line(stdout, fmt::format("  {:>12}  {}", coverage.unserved[i]->calls, coverage.unserved[i]->problem.key()));
  for (const std::string& command : commands) print_line(stdout, "tune: " + command);
}

int run_coverage(const CoverageOptions& options) {
  const auto captured = captured_shapes(options.captured, options.op);
  const DeviceInfo device = find_device(options.device);
  const auto tables = tables_to_look_in(options.tables, options.op, wanted_families(options.op));
  Coverage coverage;
  for (const Table& table : tables) look_at_rows(coverage, table, device);
  look_at_shapes(coverage, captured, tables, device);
  const auto commands = all_commands(coverage, tables, options);
  if (options.json) {
    print_coverage_json(coverage, commands, options, device);
    return 0;
  }
  print_rows(coverage, options, device);
  print_shapes(coverage, commands, options);
  return 0;
}

}  // namespace

void add_coverage_command(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<CoverageOptions>();
  auto* verb = app.add_subcommand("coverage", "Rows that no lookup can reach; captured shapes that no row serves");
  verb->add_option("captured", options->captured,
                   "Folders and files of captured shapes; default: captures of attune paths");
  verb->add_option("-t,--table", options->tables,
                   "Tuned table, F:F2 for several; once for each family. Default: those that the run time reads");
  verb->add_option("--op", options->op, "One family only; the family of files whose name does not tell");
  verb->add_option("--device", options->device, "Device whose rows count; default cpu:0");
  verb->add_option("--top", options->top, "How many rows and shapes are listed; 0: all")
      ->check(natural_number_error)
      ->capture_default_str();
  verb->add_flag("--json", options->json, "Machine-readable");
  verb->callback([options, &chosen] { chosen = [options] { return run_coverage(*options); }; });
}

}  // namespace attune
