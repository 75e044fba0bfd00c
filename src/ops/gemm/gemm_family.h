// SPDX-License-Identifier: MIT
#pragma once
#include "ops/family.h"

namespace attune {

/// Tables and names of `gemm_a16w16`. The columns are those of the older tuners' table (ROCm/aiter, aiter/configs;
/// MIT).
const FamilySpec& gemm_a16w16_family();

}  // namespace attune
