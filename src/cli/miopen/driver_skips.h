// SPDX-License-Identifier: MIT
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <span>

#include "formats/driver/driver_lines.h"

namespace attune {

/// The lines of a file of MIOpenDriver that are no convolutions, by operator or defect.
nlohmann::ordered_json skips_as_json(std::span<const DriverSkip> skipped);

}  // namespace attune
