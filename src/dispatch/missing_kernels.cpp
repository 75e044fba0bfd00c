// SPDX-License-Identifier: MIT
#include "dispatch/missing_kernels.h"

#include "base/error.h"
#include "formats/csv/row_choice.h"
#include "ops/op.h"

namespace attune {

void MissingKernels::begin(std::span<const TableFile> tables, const DeviceInfo& device) {
  has_begun_ = true;
  for (const auto& [file, op] : tables) {
    try {
      std::vector<UsableRow> rows = usable_rows(file, op);
      std::erase_if(rows, [&](const UsableRow& row) {
        return row.gfx != device.gfx || row.num_units != device.num_units || !is_of_model(row.device, device.model);
      });
      tables_.push_back({file, std::move(rows)});
    } catch (const Error&) {
      // Reported by the tables' own notices.
    }
  }
}

bool MissingKernels::look_at_next(PlanMaker& maker, const std::set<std::string>& begun) {
  while (table_ < tables_.size() && row_ >= tables_[table_].rows.size()) {
    ++table_;
    row_ = 0;
  }
  if (table_ >= tables_.size() || num_looked_at_++ == kMaxRows) {
    for (TableRows& one : tables_) one.rows = {};
    return false;
  }
  TableRows& table = tables_[table_];
  const UsableRow& row = table.rows[row_++];
  if (const Op* const op = find_op(row.problem.op()))
    table.missing.merge(maker.missing_kernels(op->normalise(row.problem, maker.device()), row.candidate, begun));
  return true;
}

std::vector<std::pair<std::filesystem::path, size_t>> MissingKernels::many() const {
  std::vector<std::pair<std::filesystem::path, size_t>> all;
  for (const TableRows& one : tables_) {
    if (one.missing.size() >= kMany) all.emplace_back(one.file, one.missing.size());
  }
  return all;
}

}  // namespace attune
