// SPDX-License-Identifier: MIT
#include "cli/fleet/store_commands.h"

#include "base/error.h"
#include "base/text.h"
#include "formats/driver/driver_text.h"

namespace attune {

std::string shown_problem(const std::string& key) {
  const Problem problem = Problem::parse(key);
  return problem.op() == "conv" ? driver_line_of(problem) : key;
}

FleetStep step_option(const std::string& text, const char* flag) {
  if (const auto step = parse_fleet_step(text)) return *step;
  fail(ErrorCode::invalid_input, "{} expects perf_compile, perf_eval, find_compile or find_eval, got '{}'", flag,
       shown(text));
}

}  // namespace attune
