// SPDX-License-Identifier: MIT
#pragma once
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

namespace attune {

/// Prints a line for a person. Names and cells in it may come from any file: control characters are escaped, so that it
/// stays one line and harmless to terminals. Lines are cut to 2000 characters.
void print_line(std::FILE* to, std::string_view line);

/// Prints each text as a line `note: …` on standard error.
void print_notes(std::span<const std::string> notes);

}  // namespace attune
