// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/record.h"

namespace attune {

/// Short text of a problem for users: `64×1280×8192 bf16→fp32 +bias`.
std::string short_shape(const Problem& problem);
/// Short text of a candidate, such as `gemm:jit 2 threads`: solver without `.gemm`, then its values.
std::string short_candidate(const Candidate& candidate);

/// Columns of the table of winners, padded for a terminal: shape, time of the baseline, winner, its time, speed-up with
/// its interval, errRatio.
std::string result_header();
std::string result_line(const Decision& decision);

/// Geometric mean of the speed-ups over the baselines, with its 95 % interval (normal in the logs, from the intervals
/// of the decisions: it covers the noise of the machine, not the choice of shapes).
struct Summary {
  size_t num_shapes = 0, num_faster = 0, num_tied = 0, num_noisy = 0;
  double mean = 1, low = 1, high = 1;
  double mean_over_untuned = 1;  ///< Over the fastest untuned config of each shape, by the medians; no interval.
};
Summary summarise(std::span<const Decision> decisions);

}  // namespace attune
