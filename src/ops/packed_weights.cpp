// SPDX-License-Identifier: MIT
#include "ops/packed_weights.h"

#include "ops/family.h"

namespace attune {

bool has_packed_weights(const Problem& problem) {
  const FamilySpec* family = find_family(problem.op());
  if (family == nullptr) return false;
  return family->is_packed || (!family->packed.empty() && problem.integer_or(family->packed, 0) != 0);
}

std::string weight_group_of(const Problem& problem) {
  const FamilySpec* family = find_family(problem.op());
  std::string key(problem.op());
  for (const auto& [name, value] : problem.attributes()) {
    if (family == nullptr || name != family->rows) key += ' ' + name + '=' + value;
  }
  return key;
}

}  // namespace attune
