// SPDX-License-Identifier: MIT
#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace attune {

/// For CLI11's check(): returns why a text is no such number; empty: it is one. CLI11 itself accepts 0x10 and 010, and
/// clamps values that do not fit.
std::string range_error(const std::string& text, int64_t min, int64_t max);  ///< A whole number between two.
std::string positive_number_error(const std::string& text);
std::string trials_error(const std::string& text);          ///< The same, or `all`.
std::string natural_number_error(const std::string& text);  ///< An integer, 0 or more.
std::string positive_count_error(const std::string& text);  ///< The same for numbers of 32 bits.
std::string natural_count_error(const std::string& text);
/// Any number, 0 or more; CLI11's ranges accept NaN, and print 300 digits for others.
std::string amount_error(const std::string& text);
/// Why a text is neither True nor False, in any case, nor 1 or 0; whether it is True or 1.
std::string truth_error(const std::string& text);
bool is_true(const std::string& text);
/// Why a text names no devices, which commas separate.
std::string device_names_error(const std::string& text);

/// The checks of a text that is one of `names`, and of numbers between two, these included. The help lists them.
CLI::Validator one_of(std::vector<std::string> names);
CLI::Validator whole_numbers(int64_t min, int64_t max);
CLI::Validator amounts(double min, double max);

}  // namespace attune
