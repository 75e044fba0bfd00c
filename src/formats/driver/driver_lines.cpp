// SPDX-License-Identifier: MIT
#include "formats/driver/driver_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "formats/driver/driver_line.h"

namespace attune {
namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{256} << 20;
constexpr size_t kMaxLineBytes = 64 << 10;
constexpr size_t kMaxListedLines = 5;

/// `3, 4 and 5`, or the first of many: `3, 4, 5, 6, 7 …`.
std::string listed_lines(const std::vector<size_t>& lines) {
  std::vector<std::string> some;
  for (size_t i = 0; i < std::min(lines.size(), kMaxListedLines); ++i) some.push_back(std::to_string(lines[i]));
  return join(some, ", ") + (lines.size() > kMaxListedLines ? " …" : "");
}

std::string notice_of(const DriverSkip& skip, const std::string& name) {
  const std::string where = fmt::format("{}:{}", name, skip.lines.front());
  const std::string lines = skip.lines.size() == 1 ? "" : fmt::format(" ({})", listed_lines(skip.lines));
  if (skip.name.empty())
    return fmt::format("{}: {} skipped: {}{}", where, counted(skip.lines.size(), "bad line"), skip.reason, lines);
  return fmt::format("{}: {} of {} skipped, only convolutions are read{}", where, counted(skip.lines.size(), "line"),
                     skip.name, lines);
}

}  // namespace

bool is_driver_file(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  std::ifstream file(path);
  std::string line(kMaxLineBytes, '\0');
  while (file.getline(line.data(), static_cast<std::streamsize>(line.size()))) {
    const std::string_view text(line.data(), static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 1) - 1));
    if (!trim(text).empty()) return text.find("MIOpenDriver") != std::string_view::npos;
  }
  return false;
}

DriverFile read_driver_lines(const std::filesystem::path& path, const DriverOptions& options) {
  return parse_driver_lines(read_file(path, kMaxFileBytes), path.string(), options);
}

DriverFile parse_driver_lines(std::string_view content, const std::string& name, const DriverOptions& options) {
  DriverFile file;
  std::set<std::string, std::less<>> keys;
  while (!content.empty()) {
    const size_t end = std::min(content.find('\n'), content.size());
    const std::string_view line = content.substr(0, end);
    content.remove_prefix(std::min(end + 1, content.size()));
    const size_t number = ++file.num_lines;
    if (line.size() > kMaxLineBytes)
      fail(ErrorCode::invalid_input, "{}:{}: a line has at most {} bytes, this one {}", name, number, kMaxLineBytes,
           line.size());
    if (line.find('\0') != std::string_view::npos)
      fail(ErrorCode::invalid_input, "{}:{}: the line contains a NUL byte, is it a text file?", name, number);
    if (trim(line).empty()) {
      ++file.num_blank;
      continue;
    }
    DriverLine parsed = parse_driver_line(line, options);
    if (parsed.kind == DriverLine::Kind::convolution) {
      ++file.num_convolutions;
      for (Problem& problem : parsed.problems) {
        if (keys.insert(problem.key()).second) file.problems.push_back({std::move(problem), number});
      }
      continue;
    }
    const bool is_bad = parsed.kind == DriverLine::Kind::bad;
    if (options.strict) {
      if (is_bad) fail(ErrorCode::invalid_input, "{}:{}: {}", name, number, parsed.text);
      fail(ErrorCode::invalid_input, "{}:{}: only convolutions are read, the operator is '{}'", name, number,
           parsed.text);
    }
    DriverSkip skip = is_bad ? DriverSkip{.name = {}, .reason = parsed.text, .lines = {}}
                             : DriverSkip{.name = parsed.text, .reason = {}, .lines = {}};
    auto found = std::find_if(file.skipped.begin(), file.skipped.end(), [&](const DriverSkip& one) {
      return one.name == skip.name && one.reason == skip.reason;
    });
    if (found == file.skipped.end()) found = file.skipped.insert(found, std::move(skip));
    found->lines.push_back(number);
  }
  for (const DriverSkip& skip : file.skipped) file.notices.push_back(notice_of(skip, name));
  if (file.problems.empty())
    fail(ErrorCode::invalid_input, "{}: there is no convolution in it{}", name,
         file.notices.empty() ? "" : ", " + file.notices.front());
  return file;
}

std::vector<int64_t> parse_batches(std::string_view text) {
  std::vector<int64_t> batches;
  for (const std::string_view one : split(text, ',')) {
    const auto number = parse_int(trim(one));
    if (!number || *number < 1)
      fail(ErrorCode::invalid_input, "batch sizes are whole numbers above 0, such as 1,2,4: '{}'", shown(text));
    batches.push_back(*number);
  }
  return batches;
}

void check_driver_command(std::string_view command) {
  if (type_of_command(command).empty())
    fail(ErrorCode::invalid_input, "the operator must be conv, convfp16, convbfp16, convint8 or convfp8, got '{}'",
         shown(command));
}

}  // namespace attune
