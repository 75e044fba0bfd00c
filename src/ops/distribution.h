// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace attune {

/// Signed test data. `normal`: N(0,1). `integers`: small whole numbers, exact where the dtype allows it.
enum class Distribution : uint8_t { normal, integers };

}  // namespace attune
