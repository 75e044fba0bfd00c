// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "formats/driver/driver_lines.h"
#include "ops/op.h"

namespace {

using namespace attune;

/// A problem is refused, or its key names it again.
void check_problem(const Problem& problem) {
  try {
    const Problem normal = op_of(problem).normalise(problem, {});
    ATTUNE_CHECK(op_of(normal).normalise(Problem::parse(normal.key()), {}) == normal, "another problem than '{}'",
                 normal.key());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_input) throw;
  }
}

}  // namespace

/// Any bytes are either problems, each line counted, or an Error.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const DriverFile file = parse_driver_lines({reinterpret_cast<const char*>(data), size}, "lines.txt");
    size_t counted = file.num_blank + file.num_convolutions;
    for (const DriverSkip& skip : file.skipped) counted += skip.lines.size();
    ATTUNE_CHECK(counted == file.num_lines, "{} of {} lines are counted", counted, file.num_lines);
    for (const DriverProblem& one : file.problems) check_problem(one.problem);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal) throw;
  }
  return 0;
}
