// SPDX-License-Identifier: MIT
#include "campaign/existing_rows.h"

#include "attune/error.h"
#include "campaign/open_devices.h"
#include "formats/csv/publish.h"
#include "formats/csv/table.h"
#include "measure/contenders.h"
#include "solver/contender.h"

namespace attune {
namespace {

/// Returns the row's candidate if it is one of this program and can run on this device; other kernels are tuned again.
std::optional<Candidate> usable_candidate(const TableRow& row, const Problem& problem, Executor& executor) {
  std::optional<Candidate> candidate;
  try {
    candidate = Candidate::parse(row.kernel_name);
  } catch (const Error&) {
    return std::nullopt;
  }
  if (why_unusable(*candidate, problem, contenders(executor, problem, {}), executor.device())) return std::nullopt;
  return candidate;
}

}  // namespace

void apply_existing_rows(const TuneOptions& options, const DeviceInfo& device, Executor& executor, TuneInputs& inputs) {
  if (inputs.merged_tables.empty()) return;
  std::string existing;
  for (const auto& path : split_table_paths(inputs.merged_tables)) {
    // The first file is the output and may be new. The others must exist.
    const bool is_new = path == inputs.table && (!std::filesystem::exists(path) || std::filesystem::is_empty(path));
    if (!is_new) {
      if (!existing.empty()) existing += ':';
      existing += path.string();
    }
  }
  if (existing.empty()) return;
  const Table table = Table::read(existing, inputs.family);
  if (std::filesystem::exists(inputs.table)) check_publishable(table.documents().front(), *inputs.family);
  inputs.notices.insert(inputs.notices.end(), table.notices().begin(), table.notices().end());
  std::vector<WorkItem> left;
  const bool same_file = options.all && !options.input.empty() && std::filesystem::exists(options.input) &&
                         std::filesystem::exists(inputs.table) &&
                         std::filesystem::equivalent(options.input, inputs.table);
  for (WorkItem& item : inputs.items) {
    // A row with an unusable time still belongs to this device.
    if (same_file && table.all(item.problem, device.gfx, device.num_units).empty()) continue;
    const TableRow* row = table.find(item.problem, device.gfx, device.num_units, device.model);
    if (row) {
      if (auto candidate = usable_candidate(*row, item.problem, executor))
        item.incumbent = Incumbent{*std::move(candidate), row->us.value_or(0), std::string(table.raw(*row))};
    }
    item.has_row = item.incumbent.has_value();
    left.push_back(std::move(item));
  }
  inputs.items = std::move(left);
}

}  // namespace attune
