// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace attune {

/// `attune check` of a file that MIOpen reads: lists its defects, without a device. Returns 1 if there are any.
int run_miopen_check(const std::string& file, bool json);

}  // namespace attune
