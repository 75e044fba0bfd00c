// SPDX-License-Identifier: MIT
#pragma once
#include <memory>

#include "attune/plan.h"
#include "ops/gemm/gemm_op.h"
#include "solver/shared_library.h"
#include "solvers/jit_cpu/kernel_arguments.h"
#include "solvers/jit_cpu/kernel_source.h"

namespace attune::jit_cpu {

/// The compiled functions of a dot kernel and its packing; keeps their libraries open.
struct DotFunctions {
  SharedLibrary dot_library, pack_library;
  DotKernel dot;
  CopyRows copy_rows;
  DotFunctions(const std::filesystem::path& dot_file, const std::filesystem::path& pack_file);
};

/// A product of few rows: each thread streams its part of the weights once, in storage order. x and the weights must be
/// contiguous along K. All work, packing included, is inside run(). Reentrant with distinct workspaces.
std::unique_ptr<Plan> make_dot_plan(const GemmShape& shape, const DotSpec& spec, int threads, DotFunctions functions);

}  // namespace attune::jit_cpu
