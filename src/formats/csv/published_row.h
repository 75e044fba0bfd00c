// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "core/candidate.h"
#include "formats/csv/publish.h"

namespace attune {

/// Makes a candidate's row of its family's table, with the rates for its time (0 µs: none).
PublishedRow published_row(const Problem& problem, const Candidate& candidate, double us, double err_ratio);

}  // namespace attune
