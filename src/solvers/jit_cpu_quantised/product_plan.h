// SPDX-License-Identifier: MIT
#pragma once
#include <memory>

#include "attune/plan.h"
#include "ops/quantised_gemm/quantised_gemm.h"
#include "solver/shared_library.h"
#include "solvers/jit_cpu_quantised/product_arguments.h"
#include "solvers/jit_cpu_quantised/product_source.h"

namespace attune::jit_cpu_quantised {

/// A kernel and the parameters of the loops around it.
struct ProductLoops {
  ProductSpec spec;
  int64_t k_block = 0;  ///< Elements of K in a call of the kernel, a multiple of 64; 0: all.
  int threads = 1;
};

/// The compiled functions; keeps their library open.
struct ProductFunctions {
  SharedLibrary library;
  Product product;
  CopyRow copy_row;
  Finish finish;
  Pack pack;               ///< Null without a tile kernel.
  PackScales pack_scales;  ///< Null without e8m0 scales.
  ProductFunctions(const ProductSpec& spec, const std::filesystem::path& file);
};

/// A quantised product. All work, copies and packing included, is inside run(). An element's bits depend neither on M
/// nor on its place. Reentrant with distinct workspaces.
std::unique_ptr<Plan> make_product_plan(const QuantisedGemm& shape, const ProductLoops& loops,
                                        ProductFunctions functions);

}  // namespace attune::jit_cpu_quantised
