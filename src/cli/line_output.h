// SPDX-License-Identifier: MIT
#pragma once
#include <cstdio>
#include <string_view>

namespace attune {

/// Prints a line for a person. Names and cells in it may come from any file: control characters are escaped, so that it
/// stays one line and harmless to terminals. Lines are cut to 2000 characters.
void print_line(std::FILE* to, std::string_view line);

}  // namespace attune
