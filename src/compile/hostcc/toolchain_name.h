// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace attune {

/// `gcc-12.2.0`, `clang-14.0.6` from what a C compiler answers to --version; for others the program's name and the
/// first version number. Fit for a file name. Nothing when the answer holds no version.
std::optional<std::string> toolchain_name(std::string_view answer, std::string_view program);

}  // namespace attune
