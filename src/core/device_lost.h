// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "attune/error.h"

namespace attune {

/// Thrown when a device no longer works: it fails its probe, or workers die on it and no candidate is to blame.
/// Other errors of code device concern the machine, as when it starts no more processes.
class DeviceLost : public Error {
 public:
  explicit DeviceLost(const std::string& why) : Error(ErrorCode::device, why) {}
};

}  // namespace attune
