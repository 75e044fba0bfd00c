// SPDX-License-Identifier: MIT
#pragma once
#include <nlohmann/json_fwd.hpp>

namespace attune {

/// Prints a JSON document on standard output. Bytes that are no UTF-8 (in a file's name) are replaced and cause no
/// exception.
void print_json(const nlohmann::ordered_json& document);

}  // namespace attune
