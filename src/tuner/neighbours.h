// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "core/candidate.h"
#include "store/journal.h"

namespace attune {

/// Winners of the journal's problems most like this one on the device (same op and types, sizes nearest by the sum of
/// their log ratios), nearest first, each candidate once. O(decisions).
std::vector<Candidate> nearest_winners(const Journal& journal, const Problem& problem, const std::string& device,
                                       size_t at_most);

}  // namespace attune
