// SPDX-License-Identifier: MIT
#include "cli/flags/value_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <utility>

#include "base/text.h"

namespace attune {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kMaxCount = std::numeric_limits<uint32_t>::max();

/// Whether a text is a whole number in decimal form, which need not fit any type.
bool is_whole(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const bool octal = text.size() > 1 && text.front() == '0';
  return !text.empty() && !octal &&
         std::all_of(text.begin(), text.end(), [](unsigned char one) { return std::isdigit(one) != 0; });
}

std::string positive_error(const std::string& text, int64_t max) {
  const auto number = parse_int(text);
  return number && *number <= 0 ? fmt::format("expected a number above 0, got '{}'", text) : range_error(text, 1, max);
}

std::string natural_error(const std::string& text, int64_t max) {
  const auto number = parse_int(text);
  return number && *number < 0 ? fmt::format("expected a number that is not negative, got '{}'", text)
                               : range_error(text, 0, max);
}

/// `a`; `a or b`; `a, b or c`.
std::string alternatives(std::vector<std::string> names) {
  const std::string last = std::move(names.back());
  names.pop_back();
  return names.empty() ? last : fmt::format("{} or {}", join(names, ", "), last);
}

}  // namespace

std::string range_error(const std::string& text, int64_t min, int64_t max) {
  if (!is_whole(text)) return fmt::format("expected a whole number, got '{}'", shown(text));
  const auto number = parse_int(text);
  if (number && *number >= min && *number <= max) return "";
  return fmt::format("expected a whole number from {} to {}, got '{}'", min, max, shown(text));
}

std::string positive_number_error(const std::string& text) { return positive_error(text, kMost); }
std::string trials_error(const std::string& text) {
  const std::string error = text == "all" ? "" : positive_number_error(text);
  return error.empty() ? "" : error + "; or all";
}
std::string natural_number_error(const std::string& text) { return natural_error(text, kMost); }
std::string positive_count_error(const std::string& text) { return positive_error(text, kMaxCount); }
std::string natural_count_error(const std::string& text) { return natural_error(text, kMaxCount); }

bool is_true(const std::string& text) { return text == "1" || to_lower(text) == "true"; }
std::string truth_error(const std::string& text) {
  if (is_true(text) || text == "0" || to_lower(text) == "false") return "";
  return fmt::format("expected True or False, got '{}'", shown(text));
}

std::string amount_error(const std::string& text) {
  const auto value = parse_double(text);
  return value && std::isfinite(*value) && *value >= 0
             ? ""
             : fmt::format("expected a number that is not negative, got '{}'", shown(text));
}

std::string device_names_error(const std::string& text) {
  const auto names = split(text, ',');
  for (const auto name : names) {
    if (names.size() > 1 && trim(name).empty())
      return fmt::format("expected names of devices, one of '{}' is empty", shown(text));
  }
  return "";
}

CLI::Validator one_of(std::vector<std::string> names) {
  const std::string listed = "{" + join(names, ",") + "}";
  return {[names = std::move(names)](const std::string& text) -> std::string {
            if (std::find(names.begin(), names.end(), text) != names.end()) return "";
            return fmt::format("expected {}, got '{}'", alternatives(names), shown(text));
          },
          listed};
}

CLI::Validator whole_numbers(int64_t min, int64_t max) {
  return {[min, max](const std::string& text) { return range_error(text, min, max); },
          fmt::format("INT in [{} - {}]", min, max)};
}

CLI::Validator amounts(double min, double max) {
  return {[min, max](const std::string& text) -> std::string {
            const auto value = parse_double(text);
            if (value && *value >= min && *value <= max) return "";
            return fmt::format("expected a number from {} to {}, got '{}'", min, max, shown(text));
          },
          fmt::format("FLOAT in [{} - {}]", min, max)};
}

}  // namespace attune
