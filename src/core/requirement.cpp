// SPDX-License-Identifier: MIT
#include "attune/requirement.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"

namespace attune {
namespace {

constexpr std::array<std::string_view, 3> kRequirementTexts = {"", "deterministic", "batch-invariant"};

}  // namespace

std::string_view text(Requirement requirement) noexcept { return kRequirementTexts[static_cast<size_t>(requirement)]; }

Requirement parse_requirement(std::string_view text) {
  const auto found = std::find(kRequirementTexts.begin(), kRequirementTexts.end(), text);
  if (found == kRequirementTexts.end())
    fail(ErrorCode::invalid_input, "a requirement is deterministic or batch-invariant, not '{}'", shown(text));
  return static_cast<Requirement>(found - kRequirementTexts.begin());
}

}  // namespace attune
