// SPDX-License-Identifier: MIT
#pragma once
#include "ops/family.h"

namespace attune {

/// Tables and names of `gemm_a16w16`, with the columns of the older tuners (ROCm/aiter, aiter/configs; MIT).
const FamilySpec& gemm_a16w16_family();

}  // namespace attune
