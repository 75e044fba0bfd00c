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

RowKernels build_row_kernels(const KernelRows& rows, const KernelBuild& build) {
  std::vector<Kernels::Request> requests;
  for (const KernelRow& one : rows.usable)
    requests.push_back({&one.problem, find_contender(one.contenders, one.candidate.solver), one.candidate});
  const auto results = build(requests);
  ATTUNE_CHECK(results.size() == requests.size(), "{} results of {} requests", results.size(), requests.size());
  RowKernels built;
  for (size_t i = 0; i < results.size(); ++i) {
    for (const Binary& binary : results[i].binaries) built.files.insert(binary.file);
    built.num_rows += !results[i].binaries.empty();
    if (!results[i].outcome.ok()) built.failures.push_back({rows.usable[i].row, results[i].outcome});
  }
  return built;
}

}  // namespace attune
