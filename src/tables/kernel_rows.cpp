// SPDX-License-Identifier: MIT
#include "tables/kernel_rows.h"

#include "base/error.h"
#include "ops/op.h"
#include "solver/static/static_contenders.h"

namespace attune {

KernelRows kernel_rows(const Table& table, const DeviceInfo& device, const ContenderQuery& contenders) {
  KernelRows rows;
  for (const TableRow& row : table.rows()) {
    if (row.gfx != device.gfx || row.num_units != device.num_units) continue;
    try {
      Candidate candidate = Candidate::parse(row.kernel_name);
      Problem problem = op_of(row.problem).normalise(row.problem, device);
      auto here = contenders(problem);
      const Contender* own = find_contender(here, candidate.solver);
      const bool is_unknown = own != nullptr && is_known_on_device_only(*own);
      if (auto why = why_unusable(candidate, problem, own, device); why && !is_unknown)
        rows.unusable.push_back({&row, std::move(*why)});
      else
        rows.usable.push_back({&row, std::move(problem), std::move(here), std::move(candidate)});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_input && error.code() != ErrorCode::unavailable) throw;
      rows.unusable.push_back({&row, error.what()});
    }
  }
  return rows;
}

}  // namespace attune
