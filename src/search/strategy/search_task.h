// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "attune/problem.h"
#include "core/device_info.h"
#include "search/strategy/domain.h"
#include "search/strategy/trial.h"

namespace attune {

/// The input of a strategy: the configs of one solver for one problem on one device, and their known results. A value,
/// cheap to copy.
struct SearchTask {
  Domain domain;  ///< The configs it may ask for, and their space.
  Problem problem;
  DeviceInfo device;
  std::string solver;  ///< Its id.
  /// Indices to ask for first: the default config, the incumbent, the winners of similar problems. Those that the
  /// domain does not contain are passed over.
  std::vector<uint64_t> start;
  /// Trials of this problem's configs in earlier runs, with the present versions. They take no part in the contest
  /// unless they are asked for, which measures nothing anew that the journal has.
  std::vector<Trial> prior;
  /// Costs of one candidate, as far as they are known; the trials that are told say better.
  Costs costs;

  const SearchSpace& space() const noexcept { return domain.space(); }
};

}  // namespace attune
