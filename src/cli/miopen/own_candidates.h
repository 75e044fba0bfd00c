// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "campaign/devices/open_devices.h"
#include "solver/contender.h"

namespace attune {

/// Compares rows of a perf-db with the candidates that solvers of this program have on a device. Not thread-safe.
class OwnCandidates {
 public:
  /// Opens the device; throws like open_environment().
  explicit OwnCandidates(const DeviceChoice& devices);

  /// `<arch><cu>`, as names of files have it.
  std::string device_name() const;
  /// See CandidateCheck. `params`: `a=1,b=2`. Opens the problem on the device.
  std::optional<std::string> why_none(const Problem& problem, const std::string& solver, const std::string& params);

 private:
  Environment environment_;
  Problem problem_;  ///< Of contenders_.
  std::vector<Contender> contenders_;
};

}  // namespace attune
