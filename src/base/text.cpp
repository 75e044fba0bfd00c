// SPDX-License-Identifier: MIT
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace attune {

std::string_view trim(std::string_view text) noexcept {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return lower;
}

bool equal_ignoring_case(std::string_view one, std::string_view other) { return to_lower(one) == to_lower(other); }

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (size_t begin = 0;;) {
    const auto end = text.find(separator, begin);
    pieces.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return pieces;
    begin = end + 1;
  }
}

std::string join(const std::vector<std::string>& pieces, std::string_view separator) {
  return fmt::format("{}", fmt::join(pieces, separator));
}

size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto continues = [&](size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return text.empty() ? 0 : 1;
  if (lead >= 0xc2 && lead <= 0xdf) return continues(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    const bool fits = (lead != 0xe0 || byte(1) >= 0xa0) && (lead != 0xed || byte(1) <= 0x9f);
    return fits && continues(1) && continues(2) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const bool fits = (lead != 0xf0 || byte(1) >= 0x90) && (lead != 0xf4 || byte(1) <= 0x8f);
    return fits && continues(1) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

std::string shown(std::string_view text, size_t max_characters) {
  std::string result;
  for (size_t count = 0; !text.empty(); ++count) {
    if (count == max_characters) return result + "…";
    const size_t length = utf8_length(text);
    const auto lead = static_cast<unsigned char>(text[0]);
    // U+0080 to U+009F are control characters too.
    const bool control = lead < ' ' || lead == 0x7f || (lead == 0xc2 && length == 2 && (text[1] & 0xe0) == 0x80);
    const std::string_view piece = text.substr(0, std::max<size_t>(1, length));
    if (length > 0 && !control)
      result += piece;
    else if (piece == "\n")
      result += "\\n";
    else if (piece == "\t")
      result += "\\t";
    else if (piece == "\r")
      result += "\\r";
    else
      for (const char c : piece) result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    text.remove_prefix(piece.size());
  }
  return result;
}

std::string counted(size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string counted_of(size_t count, size_t all, std::string_view noun) {
  return fmt::format("{} of {}", count, counted(all, noun));
}

namespace {

/// Returns a name without leading dashes, in lower case, with dashes between its words.
std::string plain_name(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  std::string plain = to_lower(name);
  std::replace(plain.begin(), plain.end(), '_', '-');
  return plain;
}

/// Returns the number of letters to insert, remove, replace or swap with the next one that turn one word into the other
/// (optimal string alignment).
size_t num_changes(std::string_view one, std::string_view other) {
  std::vector<size_t> before_last, last(other.size() + 1), row(other.size() + 1);
  for (size_t j = 0; j <= other.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= one.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= other.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (one[i - 1] == other[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = row;
  }
  return last.back();
}

}  // namespace

std::string_view nearest_name(std::string_view word, std::span<const std::string> names) {
  constexpr size_t kMaxLetters = 64;  // No name is as long.
  const std::string wanted = plain_name(word);
  std::string_view nearest;
  if (wanted.size() > kMaxLetters) return nearest;
  size_t min = wanted.size() / 3 + 1;
  for (const std::string& name : names) {
    const size_t changes = num_changes(wanted, plain_name(name));
    if (changes >= min) continue;
    min = changes;
    nearest = name;
  }
  return nearest;
}

namespace {
template <typename T>
std::optional<T> parse_number(std::string_view text) noexcept {
  T value{};
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);  // from_chars() does not accept a plus.
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}
}  // namespace

std::optional<int64_t> parse_int(std::string_view text) noexcept { return parse_number<int64_t>(text); }
std::optional<double> parse_double(std::string_view text) noexcept { return parse_number<double>(text); }

std::optional<bool> parse_bool(std::string_view text) noexcept {
  if (text == "1" || text == "True" || text == "true" || text == "TRUE") return true;
  if (text == "0" || text == "False" || text == "false" || text == "FALSE") return false;
  return std::nullopt;
}

std::optional<double> parse_duration_s(std::string_view text) noexcept {
  struct Unit {
    std::string_view suffix;
    double seconds;
  };
  // `ms` precedes `m` and `s`: the longest suffix matches first.
  static constexpr Unit kUnits[] = {{"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}, {"", 1}};
  for (const auto& unit : kUnits) {
    if (!text.ends_with(unit.suffix)) continue;
    const auto value = parse_double(text.substr(0, text.size() - unit.suffix.size()));
    const double seconds = value.value_or(-1) * unit.seconds;
    return std::isfinite(seconds) && seconds >= 0 ? std::optional(seconds) : std::nullopt;
  }
  return std::nullopt;
}

std::string format_duration(double seconds) {
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  if (!(seconds < 1e12)) return fmt::format("{:.3g}h", seconds / 3600);  // No int64_t holds every double.
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  if (whole < 3600) return fmt::format("{}m {:02}s", whole / 60, whole % 60);
  return fmt::format("{}h {:02}m", whole / 3600, whole / 60 % 60);
}

}  // namespace attune
