// SPDX-License-Identifier: MIT
#include "tuner/tune_result.h"

#include <array>

namespace attune {

std::string_view name(Ending ending) noexcept {
  static constexpr std::array<std::string_view, 7> kNames = {"decided",     "reused", "kept",       "refused",
                                                             "unsupported", "cut",    "shortlisted"};
  return kNames[static_cast<size_t>(ending)];
}

}  // namespace attune
