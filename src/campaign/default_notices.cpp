// SPDX-License-Identifier: MIT
#include "campaign/default_notices.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "ops/op.h"

namespace attune {
namespace {

/// The type of a problem's first operand; empty: its key has none.
std::string type_of(const Problem& problem, const FamilySpec& family) {
  const auto key = std::ranges::find(family.key, ColumnKind::dtype, &KeyColumn::kind);
  return key == family.key.end() || !problem.has(key->attribute) ? "" : problem.text(key->attribute);
}

/// `cpu` of `cpu:0`.
std::string_view kind_of(std::string_view device_id) { return device_id.substr(0, device_id.find(':')); }

}  // namespace

std::vector<std::string> default_notices(std::span<const Decision> decisions, const Registry& solvers) {
  std::vector<std::string> notices;
  for (const Decision& decision : decisions) {
    if (decision.has_default()) continue;
    const FamilySpec& family = op_of(decision.problem).family();
    const std::string type = type_of(decision.problem, family);
    std::vector<std::string> packages;
    for (const LibraryPackage& one : family.packages) {
      if (one.device == kind_of(decision.device_id) && one.type == type && solvers.find(one.solver) == nullptr)
        packages.emplace_back(one.package);
    }
    std::string text = fmt::format("no library serves {} on {}", type.empty() ? family.op : type, decision.device_id);
    if (!packages.empty()) text += fmt::format("; {} {}", join(packages, " or "), packages.size() > 1 ? "do" : "does");
    if (std::ranges::find(notices, text) == notices.end()) notices.push_back(std::move(text));
  }
  return notices;
}

}  // namespace attune
