// SPDX-License-Identifier: MIT
#include "cli/fleet/store_commands.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "formats/driver/driver_text.h"

namespace attune {

std::string label_error(const std::string& text) {
  constexpr size_t kMaxBytes = 255;
  if (text.size() > kMaxBytes)
    return fmt::format("expected at most {} bytes, got {}: '{}'", kMaxBytes, text.size(), shown(text));
  bool is_line = !trim(text).empty();
  for (std::string_view rest = text; is_line && !rest.empty();) {
    const size_t length = utf8_length(rest);
    const auto first = static_cast<unsigned char>(rest.front());
    is_line = length > 0 && first >= ' ' && first != 127;
    rest.remove_prefix(length);
  }
  return is_line ? "" : fmt::format("expected one line of UTF-8 text, got '{}'", shown(text));
}

std::string shown_problem(const std::string& key) {
  const Problem problem = Problem::parse(key);
  return problem.op() == "conv" ? driver_line_of(problem) : key;
}

std::vector<FleetStep> steps_option(const std::vector<std::string>& typed, const char* flag) {
  std::vector<FleetStep> steps;
  for (const std::string& list : typed) {
    for (const std::string_view text : split(list, ',')) {
      const auto step = parse_fleet_step(trim(text));
      if (!step)
        fail(ErrorCode::invalid_input,
             "{} expects some of perf_compile, perf_eval, find_compile and find_eval, got '{}'", flag, shown(list));
      steps.push_back(*step);
    }
  }
  return steps;
}

}  // namespace attune
