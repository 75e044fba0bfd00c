// SPDX-License-Identifier: MIT
#include "tables/kernel_rows.h"

#include "base/error.h"
#include "ops/op.h"
#include "solver/static/static_contenders.h"
#include "tables/row_status.h"

namespace attune {

KernelRows kernel_rows(const Table& table, const DeviceInfo& device, const ContenderQuery& contenders) {
  KernelRows rows;
  for (const TableRow& row : table.rows()) {
    if (row.gfx != device.gfx || row.num_units != device.num_units) continue;
    Problem problem;
    std::vector<Contender> here;
    const auto usable = [&](const Candidate& candidate) {
      problem = op_of(row.problem).normalise(row.problem, device);
      here = contenders(problem);
      const Contender* own = find_contender(here, candidate.solver);
      const bool is_unknown = own != nullptr && is_known_on_device_only(*own);
      return is_unknown ? std::nullopt : why_unusable(candidate, problem, own, device);
    };
    try {
      RowKernel kernel = row_kernel(row.kernel_name, row.layout, usable);
      if (kernel.why_unservable)
        rows.unusable.push_back({&row, *std::move(kernel.why_unservable)});
      else
        rows.usable.push_back({&row, std::move(problem), std::move(here), *std::move(kernel.candidate)});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_input && error.code() != ErrorCode::unavailable) throw;
      rows.unusable.push_back({&row, error.what()});
    }
  }
  return rows;
}

}  // namespace attune
