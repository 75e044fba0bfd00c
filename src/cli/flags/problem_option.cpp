// SPDX-License-Identifier: MIT
#include "cli/flags/problem_option.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/line_output.h"
#include "base/text.h"
#include "ops/op.h"

namespace attune {

Problem parse_problem(const std::string& text, const DeviceInfo& device) {
  const auto problem = Problem::parse(text);
  try {
    return op_of(problem).normalise(problem, device);
  } catch (Error& error) {
    error.add_context(fmt::format("the problem '{}'", shown(text, 500)));
    throw;
  }
}

void note_damaged(size_t num_damaged, const std::filesystem::path& journal) {
  if (num_damaged == 0) return;
  print_line(stderr, fmt::format("note: the journal is damaged, {} skipped: '{}'", counted(num_damaged, "row"),
                                 journal.string()));
}

}  // namespace attune
