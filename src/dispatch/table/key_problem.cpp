// SPDX-License-Identifier: MIT
#include "dispatch/table/key_problem.h"

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace attune {

Problem problem_to_compute(const KeyCodes& codes, const GemmKey& key) {
  codes.check_fits(key);
  auto problem = problem_of(codes, key);
  if (!problem) fail(ErrorCode::invalid_input, "a key of {} has an unknown data type", codes.family().op);
  return *std::move(problem);
}

std::optional<Problem> problem_of(const KeyCodes& codes, const GemmKey& key) {
  const KeyCodes::Codes values = codes.codes(key);
  std::vector<std::pair<std::string, std::string>> attributes;
  for (size_t i = 0; i < codes.size(); ++i) {
    const KeyColumn& column = codes.family().key[i];
    std::string value = std::to_string(values[i]);
    if (column.kind == ColumnKind::dtype) {
      if (values[i] < 0 || values[i] >= kNumDTypes) return std::nullopt;
      value = name(static_cast<DType>(values[i]));
    }
    if (!column.optional || value != column.default_value) attributes.emplace_back(column.attribute, std::move(value));
  }
  return Problem(std::string(codes.family().op), std::move(attributes));
}

}  // namespace attune
