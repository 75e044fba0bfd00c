// SPDX-License-Identifier: MIT
#pragma once
#include <nlohmann/json_fwd.hpp>

namespace attune {

/// The answers of the data's routes by the names that ApiRoute::answer has, as schemas of OpenAPI 3.0 that allow no
/// other member; `Error` is that of a refusal. Of a journal's entries, whose members docs/formats/journal.md states,
/// only the stamp is described.
nlohmann::ordered_json answer_schemas();

}  // namespace attune
