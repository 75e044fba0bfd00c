// SPDX-License-Identifier: MIT
#include "solver/module.h"
#include "solvers/onednn/onednn_library.h"
#include "solvers/onednn/onednn_solvers.h"

namespace attune {

const OnednnLibrary& onednn_library() {
  static constexpr OnednnLibrary library{"onednn",
                                         "onednn.gemm",
                                         "oneDNN matmul, every implementation it offers",
                                         "onednn.gemm_a8w8",
                                         "oneDNN matmul of int8 or converted to bf16, scaled by Attune",
                                         "onednn.conv",
                                         "oneDNN convolution, every implementation and order of the tensors"};
  return library;
}

}  // namespace attune

ATTUNE_SOLVER_MODULE(attune::OnednnSolver, attune::OnednnQuantisedSolver, attune::OnednnConvSolver)
