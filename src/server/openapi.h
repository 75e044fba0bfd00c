// SPDX-License-Identifier: MIT
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <span>

#include "server/api_route.h"

namespace attune {

/// Describes routes as OpenAPI 3.0.3 (https://spec.openapis.org/oas/v3.0.3).
nlohmann::ordered_json openapi_document(std::span<const ApiRoute> routes);

}  // namespace attune
