// SPDX-License-Identifier: MIT
#pragma once
#include <string_view>

#include "ops/gemm/gemm_op.h"
#include "solver/solver.h"

namespace attune {

/// Differences between the versions of oneDNN beyond their API; each module defines its own (onednn2.cpp, onednn3.cpp).
struct OnednnLibrary {
  std::string_view name;  ///< `onednn3`: prefix of the version's keys.
  std::string_view id, title;
  std::string_view file;  ///< `libdnnl.so.3`: prefix of the file name that must contain the entry points.
};
const OnednnLibrary& onednn_library();

/// Whether this CPU has an fp16 implementation other than the reference. Touches no library.
Support onednn_supports_fp16(const GemmShape& shape);

}  // namespace attune
