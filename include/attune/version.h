// SPDX-License-Identifier: MIT
#pragma once

namespace attune {

/// Version of the program and of the installed headers.
inline constexpr char kVersion[] = "0.1.0";

}  // namespace attune
