// SPDX-License-Identifier: MIT
#include "solver/module.h"
#include "solvers/onednn/onednn_library.h"
#include "solvers/onednn/onednn_solvers.h"

namespace attune {

const OnednnLibrary& onednn_library() {
  static constexpr OnednnLibrary library{"onednn", "onednn.gemm", "oneDNN matmul, every implementation it offers",
                                         "oneDNN matmul of int8 or of what is converted to bf16, scaled by Attune"};
  return library;
}

}  // namespace attune

ATTUNE_SOLVER_MODULE(attune::OnednnSolver, attune::OnednnQuantised<attune::gemm_a8w8_family>,
                     attune::OnednnQuantised<attune::gemm_a8w8_blockscale_family>,
                     attune::OnednnQuantised<attune::gemm_a4w4_blockscale_family>)
