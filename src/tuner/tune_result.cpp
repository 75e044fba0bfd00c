// SPDX-License-Identifier: MIT
#include "tuner/tune_result.h"

#include <array>

namespace attune {

std::string_view name(Ending ending) noexcept {
  static constexpr std::array<std::string_view, 7> kNames = {"decided",     "reused", "kept",       "refused",
                                                             "unsupported", "cut",    "shortlisted"};
  return kNames[static_cast<size_t>(ending)];
}

bool is_decided(const TuneResult& result) noexcept {
  switch (result.ending) {
    case Ending::decided:
    case Ending::reused:
      return result.decision && !is_unfinished_tie(*result.decision);
    case Ending::kept:
    case Ending::shortlisted:
      return true;
    case Ending::refused:
    case Ending::unsupported:
    case Ending::cut:
      break;
  }
  return false;
}

}  // namespace attune
