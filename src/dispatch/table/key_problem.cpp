// SPDX-License-Identifier: MIT
#include "dispatch/table/key_problem.h"

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace attune {
namespace {

/// Returns the text of a value; nothing if the attribute cannot have it.
std::optional<std::string> text_of(const AttributeSpec& column, int64_t value) {
  switch (column.kind) {
    case ColumnKind::integer:
      return std::to_string(value);
    case ColumnKind::flag:
      if (value == 0 || value == 1) return std::to_string(value);
      break;
    case ColumnKind::dtype:
      if (value >= 0 && value < kNumDTypes) return std::string(name(static_cast<DType>(value)));
      break;
    case ColumnKind::choice:
      if (value >= 0 && static_cast<size_t>(value) < column.allowed.size())
        return std::string(column.allowed[static_cast<size_t>(value)]);
      break;
    case ColumnKind::text:
      break;  // A key has its hash only.
  }
  return std::nullopt;
}

}  // namespace

Problem problem_to_compute(const KeyCodes& codes, const Key& key) {
  if (auto problem = problem_of(codes, key)) return *std::move(problem);
  for (size_t i = 0; i < codes.size(); ++i) {
    const AttributeSpec& column = codes.family().key[i];
    if (!text_of(column, codes.value(key, i)))
      fail(ErrorCode::invalid_input, "a key of {} has no value of '{}' here: {}", codes.family().op, column.name,
           codes.value(key, i));
  }
  fail(ErrorCode::internal, "a key of {} is no problem", codes.family().op);
}

std::optional<Problem> problem_of(const KeyCodes& codes, const Key& key) {
  std::vector<std::pair<std::string, std::string>> attributes;
  for (size_t i = 0; i < codes.size(); ++i) {
    const AttributeSpec& column = codes.family().key[i];
    auto value = text_of(column, codes.value(key, i));
    if (!value) return std::nullopt;
    if (!column.omits(*value)) attributes.emplace_back(column.name, *std::move(value));
  }
  return Problem(std::string(codes.family().op), std::move(attributes));
}

}  // namespace attune
