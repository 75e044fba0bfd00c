// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "ops/attribute_setting.h"

namespace CLI {
class App;
}

namespace attune {

/// Adds a flag for each attribute of the ops' schemas, and the spellings that the older tuners have for some. Opens the
/// op modules.
void add_attribute_flags(CLI::App& command, std::vector<AttributeSetting>& settings);

}  // namespace attune
