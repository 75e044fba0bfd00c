// SPDX-License-Identifier: MIT
#include "ops/gemm/gemm_reference_kernel.h"

#include <cstring>
#include <type_traits>

namespace attune {

std::span<const KernelImage> gemm_reference_kernels();  // gemm_reference.cu

ReferenceKernel gemm_reference_kernel(const GemmShape& shape) {
  const GemmReferenceProblem problem = {shape, GemmOperands::of(shape),
                                        shape.epilogue.is_none() ? 0 : steepest_slope(shape.epilogue.act)};
  static_assert(std::is_trivially_copyable_v<GemmReferenceProblem>);
  const auto tiles = [](int64_t extent) { return (extent + kReferenceTile - 1) / kReferenceTile; };
  ReferenceKernel kernel = {.images = gemm_reference_kernels(),
                            .name = "attune_gemm_reference",
                            .grid = {static_cast<uint32_t>(tiles(shape.m) * tiles(shape.n)), kReferenceThreads},
                            .problem = std::vector<std::byte>(sizeof problem)};
  std::memcpy(kernel.problem.data(), &problem, sizeof problem);
  return kernel;
}

}  // namespace attune
