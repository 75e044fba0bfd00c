// SPDX-License-Identifier: MIT
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "pipeline/before_after.h"
#include "pipeline/shape_times.h"

namespace attune {

/// A shape of `attune bench -i --json` and of before.json (docs/ci_reference.md).
nlohmann::ordered_json times_json(const ShapeTimes& times);
/// A shape of `attune ci compare --json` and of results.json: its verdict, without the samples.
nlohmann::ordered_json verdict_json(const ShapeChange& shape, const ChangeResult& result);

/// A shape of after.json: kernels and all samples, from which verdicts can be judged again.
nlohmann::ordered_json change_json(const ShapeChange& shape);
/// Inverse of change_json(). The stated times and the matches are not read. Throws invalid_input for another document.
ShapeChange read_change(const nlohmann::ordered_json& object);

}  // namespace attune
