// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attune {

std::string_view trim(std::string_view text) noexcept;  ///< Without blanks, tabs and line ends at both ends.
std::string to_lower(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);  ///< Empty pieces are kept.
std::string join(const std::vector<std::string>& pieces, std::string_view separator);

/// The whole text as a decimal integer or number; nothing else, and no overflow. Locale-independent.
std::optional<int64_t> parse_int(std::string_view text) noexcept;
std::optional<double> parse_double(std::string_view text) noexcept;  ///< Accepts inf and nan.
std::optional<bool> parse_bool(std::string_view text) noexcept;      ///< True/true/TRUE/1, False/false/FALSE/0.

/// A duration as people type it: `30s`, `10m`, `1.5h`, `250ms`; a bare number is seconds. Seconds are returned.
std::optional<double> parse_duration_s(std::string_view text) noexcept;
std::string format_duration(double seconds);  ///< `1m 12s`, `3.4 s`.

}  // namespace attune
