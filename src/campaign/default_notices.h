// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/record.h"
#include "solver/registry.h"

namespace attune {

/// Tells a user which package would give shapes a default. One sentence for each device and type of the decisions
/// without one: `no library serves bf16 on cpu:0; libdnnl-dev does`. The packages are those of FamilySpec::packages
/// whose solver `solvers` lacks; without such a package the sentence ends after the device.
std::vector<std::string> default_notices(std::span<const Decision> decisions, const Registry& solvers);

}  // namespace attune
