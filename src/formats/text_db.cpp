// SPDX-License-Identifier: MIT
#include "formats/text_db.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace attune {
namespace {

/// The lines of a text and their numbers.
class TextLines {
 public:
  explicit TextLines(std::string_view content) : rest_(content) {}
  bool next() {
    if (rest_.empty()) return false;
    const size_t end = std::min(rest_.find('\n'), rest_.size());
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++number_;
    return true;
  }
  std::string_view line() const { return line_; }
  size_t number() const { return number_; }

 private:
  std::string_view rest_, line_;
  size_t number_ = 0;
};

bool is_printable(char one) { return one >= ' ' && one <= '~'; }

[[noreturn]] void fail_at(const std::string& name, size_t line, const std::string& what) {
  fail(ErrorCode::invalid_input, "{}:{}: {}", name, line, what);
}

void check_line(std::string_view line, const std::string& name, size_t number) {
  if (line.size() > kMaxTextDbLineBytes)
    fail_at(name, number, fmt::format("a line has at most {} bytes, this one {}", kMaxTextDbLineBytes, line.size()));
  const auto* const odd = std::find_if_not(line.begin(), line.end(), is_printable);
  if (odd == line.end()) return;
  if (*odd == '\0') fail_at(name, number, "the line contains a NUL byte, is it a text file?");
  fail_at(name, number,
          fmt::format("byte {} of the line is not printable ASCII: '{}'", odd - line.begin() + 1,
                      shown(std::string_view(odd, 1))));
}

TextDbRecord record_of(std::string_view line, const std::string& name, size_t number) {
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos)
    fail_at(name, number, fmt::format("the line has no '=' after its key: '{}'", shown(line)));
  TextDbRecord record{.key = line.substr(0, equals), .line = number, .entries = {}};
  if (record.key.empty()) fail_at(name, number, "the line has no key before '='");
  std::string_view rest = line.substr(equals + 1);
  record.entries.reserve(static_cast<size_t>(std::count(rest.begin(), rest.end(), ';')) + 1);
  for (bool is_last = false; !is_last;) {
    const size_t end = std::min(rest.find(';'), rest.size());
    const std::string_view entry = rest.substr(0, end);
    const size_t colon = entry.find(':');
    if (colon == std::string_view::npos || colon == 0)
      fail_at(name, number, fmt::format("an entry is 'NAME:VALUES', got '{}'", shown(entry)));
    record.entries.push_back({entry.substr(0, colon), entry.substr(colon + 1)});
    is_last = end == rest.size();
    rest.remove_prefix(is_last ? end : end + 1);
  }
  return record;
}

}  // namespace

std::vector<TextDbRecord> parse_text_db(std::string_view content, const std::string& name) {
  std::vector<TextDbRecord> records;
  records.reserve(static_cast<size_t>(std::count(content.begin(), content.end(), '\n')) + 1);
  for (TextLines lines(content); lines.next();) {
    check_line(lines.line(), name, lines.number());
    if (!trim(lines.line()).empty()) records.push_back(record_of(lines.line(), name, lines.number()));
  }
  return records;
}

TextDbRecord first_text_record(std::string_view content) {
  for (TextLines lines(content); lines.next();) {
    const std::string_view line = lines.line();
    if (trim(line).empty()) continue;
    const size_t equals = line.find('='), colon = line.find(':', std::min(equals, line.size()));
    const bool is_record = line.front() >= '0' && line.front() <= '9' && colon != std::string_view::npos;
    if (!is_record) return {};
    const std::string_view entry = line.substr(equals + 1, line.find(';', equals) - equals - 1);
    return {.key = line.substr(0, equals),
            .line = lines.number(),
            .entries = {{line.substr(equals + 1, colon - equals - 1), entry.substr(colon - equals)}}};
  }
  return {};
}

std::string head_of_file(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return {};
  try {
    FileReader reader(path);
    std::string head(kMaxTextDbLineBytes, '\0');
    size_t size = 0;
    while (const size_t count = reader.read(std::span(head).subspan(size))) size += count;
    head.resize(size);
    return head;
  } catch (const Error&) {
    return {};
  }
}

bool is_text_db(const std::filesystem::path& path) { return !first_text_record(head_of_file(path)).key.empty(); }

}  // namespace attune
