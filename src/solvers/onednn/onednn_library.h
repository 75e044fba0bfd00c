// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string_view>

#include "ops/gemm/gemm_op.h"
#include "solver/solver.h"

namespace attune {

/// Names of the solvers that a module makes of oneDNN; each module defines its own (onednn.cpp, onednn3.cpp).
struct OnednnLibrary {
  std::string_view name;  ///< `onednn3`: prefix of the keys of its versions and layouts.
  std::string_view id, title;
  std::string_view quantised_title;  ///< Of the solvers `<name>.<op>` of quantised products.
};
const OnednnLibrary& onednn_library();

/// `libdnnl.so.3`: prefix of the name of the file that must contain the entry points, by the headers' version.
std::string_view onednn_file();

/// Whether this version has an fp16 implementation for this CPU other than the reference. Calls no library.
Support onednn_supports_fp16(const GemmShape& shape);

/// Whether this version computes an activation of every value, Inf and NaN too. Calls no library.
Support onednn_supports_activation(Activation act);

/// Memory that a primitive of an implementation holds, as measured (tests/conformance/plan_memory_test.cpp): mostly
/// generated code. oneDNN itself keeps the last 1024 primitives of a process, even those whose plans are destroyed.
uint64_t onednn_primitive_bytes(std::string_view implementation);

}  // namespace attune
