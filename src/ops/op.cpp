// SPDX-License-Identifier: MIT
#include "ops/op.h"

#include "base/error.h"
#include "base/text.h"

namespace attune {

std::vector<const Op*> registered_ops();  // Generated.

std::span<const Op* const> ops() {
  static const std::vector<const Op*> all = registered_ops();
  return all;
}

const Op* find_op(std::string_view name) {
  for (const Op* op : ops()) {
    if (op->name() == name) return op;
  }
  return nullptr;
}

const Op& op_of(const Problem& problem) {
  if (const Op* op = find_op(problem.op())) return *op;
  if (find_family(problem.op()))
    fail(ErrorCode::invalid_input, "this build reads the tables of the family but cannot tune it yet: '{}'",
         problem.op());
  std::vector<std::string> names;
  for (const Op* op : ops()) names.emplace_back(op->name());
  fail(ErrorCode::invalid_input, "unknown op, use one of {}: '{}'", join(names, ", "), problem.op());
}

}  // namespace attune
