// SPDX-License-Identifier: MIT
#include "solvers/onednn/onednn_library.h"

namespace attune {

const OnednnLibrary& onednn_library() {
  static constexpr OnednnLibrary library{"onednn", "onednn.gemm", "oneDNN matmul, every implementation it offers"};
  return library;
}

}  // namespace attune
