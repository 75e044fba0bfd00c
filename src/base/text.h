// SPDX-License-Identifier: MIT
#pragma once
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attune {

std::string_view trim(std::string_view text) noexcept;  ///< Removes blanks, tabs and line ends at both ends.
std::string to_lower(std::string_view text);
/// Whether two texts differ at most in the case of ASCII letters.
bool equal_ignoring_case(std::string_view one, std::string_view other);
/// Returns views of the pieces; empty ones are kept.
std::vector<std::string_view> split(std::string_view text, char separator);
template <std::same_as<std::string> Temporary>
std::vector<std::string_view> split(Temporary&& text, char separator) = delete;  ///< The views would dangle.
std::string join(const std::vector<std::string>& pieces, std::string_view separator);

/// Length of the UTF-8 sequence at the start of `text`; 0 if it is not valid. Overlong forms and surrogates are not
/// valid.
size_t utf8_length(std::string_view text) noexcept;
/// A user's text in a form fit for messages: control characters and bytes that are not UTF-8 are escaped (`
/// `, `\x1b`), and a text longer than `max_characters` characters ends in `…`.
std::string shown(std::string_view text, size_t max_characters = 80);
std::string counted(size_t count, std::string_view noun);  ///< `1 shape`, `2 shapes`.
/// `0 of 1 shape`, `1 of 3 shapes`.
std::string counted_of(size_t count, size_t all, std::string_view noun);

/// Returns the name that a misspelt word most likely means: the first of those that differ from it in the fewest
/// letters, and in at most a third of them. Two letters in the wrong order count once; case, leading dashes, and
/// whether a dash or an underscore stands between words, do not count. Empty: none is near.
std::string_view nearest_name(std::string_view word, std::span<const std::string> names);

/// Parses the whole text as a decimal integer or number, without overflow. Locale-independent.
std::optional<int64_t> parse_int(std::string_view text) noexcept;
std::optional<double> parse_double(std::string_view text) noexcept;  ///< Accepts inf and nan.
std::optional<bool> parse_bool(std::string_view text) noexcept;      ///< True/true/TRUE/1, False/false/FALSE/0.

/// Parses a duration as people type it: `30s`, `10m`, `1.5h`, `250ms`; a bare number is seconds. Returns seconds.
std::optional<double> parse_duration_s(std::string_view text) noexcept;
std::string format_duration(double seconds);  ///< `1m 12s`, `3.4 s`.

}  // namespace attune
