// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace attune {

/// `gcc-12.2.0`, `clang-14.0.6` from a C compiler's answer to --version; for other compilers the program's name and the
/// first version number. Usable as a file name. Empty when the answer contains no version.
std::optional<std::string> toolchain_name(std::string_view answer, std::string_view program);

}  // namespace attune
