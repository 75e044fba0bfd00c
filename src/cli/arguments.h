// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

namespace attune {

/// Arguments with the single-dash spellings of the older tools written as CLI11 reads them: `-o2 F` → `--profile_file
/// F`, `-col_a` → `--col_a`. Throws invalid_input for a bare `-k`, which there was the split-K switch and here is K.
std::vector<std::string> rewrite_arguments(std::vector<std::string> arguments);

/// For CLI11's check(): empty, or why a text is no such number. CLI11 itself takes 0x10 and 010, and cuts what does not
/// fit to the largest value.
std::string whole_number_error(const std::string& text);
std::string positive_number_error(const std::string& text);
std::string natural_number_error(const std::string& text);  ///< Whole, 0 or more.
/// Any number, 0 or more; CLI11's ranges let NaN pass, and print 300 digits for others.
std::string amount_error(const std::string& text);

}  // namespace attune
