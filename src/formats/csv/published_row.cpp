// SPDX-License-Identifier: MIT
#include "formats/csv/published_row.h"

#include "core/candidate.h"
#include "ops/op.h"

namespace attune {

PublishedRow published_row(const Problem& problem, const Candidate& candidate, double us, double err_ratio) {
  PublishedRow row;
  row.problem = problem;
  row.layout = layout_of(candidate);
  row.kernel_name = candidate.name();
  row.libtype = first_part(candidate.solver);
  row.split_k = split_k_of(candidate.config);
  row.us = us;
  row.err_ratio = err_ratio;
  if (us > 0) {
    const Work work = op_of(problem).work(problem);
    row.tflops = work.flops / us / 1e6;
    row.bw = work.bytes / us / 1e3;
  }
  return row;
}

PublishedRow published_row(const Decision& decision, const DeviceInfo& device) {
  PublishedRow row =
      published_row(decision.problem, decision.winner, decision.comparison.us, decision.errors.mismatch_ratio);
  row.gfx = device.gfx;
  row.num_units = device.num_units;
  row.model = device.model;
  row.require = decision.protocol.require;
  if (const auto number = decision.winner_number()) row.algorithm = static_cast<int64_t>(*number);
  return row;
}

}  // namespace attune
