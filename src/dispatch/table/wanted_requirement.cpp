// SPDX-License-Identifier: MIT
#include "dispatch/table/wanted_requirement.h"

#include <limits>

#include "attune/error.h"
#include "base/variable.h"

namespace attune {
namespace {

constexpr const char* kRequireVariable = "ATTUNE_REQUIRE";

}  // namespace

Requirement requirement_wanted() {
  const char* text = variable_or_null(kRequireVariable);
  if (text == nullptr) return Requirement::none;
  try {
    return parse_requirement(text);
  } catch (Error& error) {
    error.add_context(kRequireVariable);
    throw;
  }
}

double regret_under(Requirement required, double share) noexcept {
  return required == Requirement::batch_invariant ? std::numeric_limits<double>::infinity() : share;
}

}  // namespace attune
