// SPDX-License-Identifier: MIT
#pragma once
#include "base/error.h"

namespace attune {

/// The server of a fleet's store does not answer. It may later, so that a caller may wait.
class StoreAway final : public Error {
 public:
  explicit StoreAway(const std::string& message) : Error(ErrorCode::database, message) {}
};

}  // namespace attune
