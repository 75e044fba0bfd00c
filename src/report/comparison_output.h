// SPDX-License-Identifier: MIT
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/comparison.h"

namespace attune {

/// Returns the ratio and its interval: `1.234× [1.200, 1.260]`; `unknown` without a pair.
std::string ratio_text(const Comparison& comparison);

/// Adds the members `us`, `speedup`, `interval` and `clean_pairs` to a JSON object. An unknown ratio and its interval
/// are null.
void add_comparison(nlohmann::ordered_json& object, const Comparison& comparison);

}  // namespace attune
