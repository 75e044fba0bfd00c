// SPDX-License-Identifier: MIT
#pragma once
#include <string_view>

#include "ops/gemm/gemm_op.h"
#include "solver/solver.h"

namespace attune {

/// Names of the solver that a module makes of oneDNN; each module defines its own (onednn.cpp, onednn3.cpp).
struct OnednnLibrary {
  std::string_view name;  ///< `onednn3`: prefix of the keys of its versions and layouts.
  std::string_view id, title;
};
const OnednnLibrary& onednn_library();

/// `libdnnl.so.3`: prefix of the name of the file that must contain the entry points, by the headers' version.
std::string_view onednn_file();

/// Whether this version has an fp16 implementation for this CPU other than the reference. Calls no library.
Support onednn_supports_fp16(const GemmShape& shape);

}  // namespace attune
