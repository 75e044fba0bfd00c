// SPDX-License-Identifier: MIT
#include "campaign/existing_rows.h"

#include <algorithm>
#include <set>

#include "attune/error.h"
#include "formats/csv/publish.h"
#include "formats/csv/table.h"
#include "measure/contenders.h"
#include "ops/op.h"
#include "ops/packed_weights.h"
#include "solver/contender.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

/// Returns the row's candidate if it is one of this program and can run on this device; other kernels are tuned again.
std::optional<Candidate> usable_candidate(const TableRow& row, const Problem& problem, Executor& executor) {
  std::optional<Candidate> candidate;
  try {
    candidate = Candidate::parse(row.kernel_name);
  } catch (const Error&) {
    return std::nullopt;
  }
  if (why_unusable(*candidate, problem, contenders(executor, problem, {}, {}, std::vector{*candidate}),
                   executor.device()))
    return std::nullopt;
  return candidate;
}

/// Returns the rows that may serve the device and state exactly this requirement, best first.
std::vector<const TableRow*> rows_stating(const Table& table, const Problem& problem, const DeviceInfo& device,
                                          Requirement stated) {
  std::vector<const TableRow*> rows;
  for (const TableRow* row : table.all(problem, device.gfx, device.num_units)) {
    if (row->us && row->tag.empty() && is_of_model(row->device, device.model) && row->require == stated)
      rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const TableRow* a, const TableRow* b) { return a->rank(stated) < b->rank(stated); });
  return rows;
}

/// Returns the row that serves the problem: the best whose kernel can run on the executor's device; nothing if none
/// can.
std::optional<Incumbent> incumbent_of(const Table& table, const Problem& problem, Executor& executor,
                                      Requirement stated) {
  for (const TableRow* row : rows_stating(table, problem, executor.device(), stated)) {
    if (auto candidate = usable_candidate(*row, problem, executor))
      return Incumbent{*std::move(candidate), row->us.value_or(0), std::string(table.raw(*row))};
  }
  return std::nullopt;
}

/// Returns the paths of the tables that exist, joined with `:`. Only the output may be new.
std::string existing_tables(const OutputTables& tables) {
  if (tables.all.empty()) return {};
  std::string existing;
  for (const auto& path : split_table_paths(tables.all)) {
    const bool is_new = path == tables.output && (!fs::exists(path) || fs::is_empty(path));
    if (is_new) continue;
    if (!existing.empty()) existing += ':';
    existing += path.string();
  }
  return existing;
}

bool is_same_file(const fs::path& one, const fs::path& other) {
  return fs::exists(one) && fs::exists(other) && fs::equivalent(one, other);
}

/// Adds the problems of the table's other rows that must have the config of a problem's weight.
void add_rows_of_weights(const Table& table, const DeviceInfo& device, std::vector<Problem>& problems) {
  std::set<std::string> weights, known;
  for (const Problem& problem : problems) {
    weights.insert(weight_group_of(problem));
    known.insert(problem.key());
  }
  for (const TableRow& row : table.rows()) {
    if (row.require != Requirement::batch_invariant || row.gfx != device.gfx || row.num_units != device.num_units ||
        !is_of_model(row.device, device.model))
      continue;
    const Problem problem = op_of(row.problem).normalise(row.problem, device);
    if (weights.contains(weight_group_of(problem)) && known.insert(problem.key()).second) problems.push_back(problem);
  }
}

}  // namespace

ExistingRows read_existing_rows(const TuneOptions& options, const TuneShapes& shapes, const OutputTables& tables,
                                Executor& executor) {
  ExistingRows result;
  const std::string existing = existing_tables(tables);
  if (existing.empty()) {
    for (const Problem& problem : shapes.problems) result.items.push_back({problem, std::nullopt});
    return result;
  }
  const Table table = Table::read(existing, shapes.family);
  if (fs::exists(tables.output)) check_publishable(table.documents().front(), *shapes.family);
  result.notices = table.notices();
  const bool only_own = options.all && !options.input.empty() && is_same_file(options.input, tables.output);
  const DeviceInfo& device = executor.device();
  const Requirement required = parse_requirement(options.require);
  std::vector<Problem> problems = shapes.problems;
  if (required == Requirement::batch_invariant) add_rows_of_weights(table, device, problems);
  for (const Problem& problem : problems) {
    // A row with an unusable time still belongs to this device.
    if (only_own && table.all(problem, device.gfx, device.num_units).empty()) continue;
    WorkItem item{problem, incumbent_of(table, problem, executor, required)};
    // All rows of a weight get one config, so no row is kept separately.
    item.has_row = item.incumbent.has_value() && required != Requirement::batch_invariant;
    result.items.push_back(std::move(item));
  }
  return result;
}

}  // namespace attune
