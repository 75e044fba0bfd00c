// SPDX-License-Identifier: MIT
#include "cli/miopen/driver_skips.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace attune {

nlohmann::ordered_json skips_as_json(std::span<const DriverSkip> skipped) {
  using nlohmann::ordered_json;
  ordered_json skips = ordered_json::array();
  for (const DriverSkip& skip : skipped) {
    ordered_json one =
        skip.name.empty() ? ordered_json{{"defect", skip.reason}} : ordered_json{{"operator", skip.name}};
    one["lines"] = skip.lines;
    skips.push_back(std::move(one));
  }
  return skips;
}

}  // namespace attune
