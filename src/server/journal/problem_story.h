// SPDX-License-Identifier: MIT
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "store/journal.h"

namespace attune {

/// All that a journal says of one problem: its decisions, newest first, and each candidate of each device with what
/// came of it: whether it won the newest decision there, the stage in which it left, its status and why, its errors and
/// times. Samples of a candidate: at most 500, of its last measurement. `device`: of this device's key alone. Nothing
/// for a problem without an entry.
std::optional<nlohmann::ordered_json> problem_story(const Journal& journal, const Problem& problem,
                                                    const std::optional<std::string>& device);

}  // namespace attune
