// SPDX-License-Identifier: MIT
#include "solvers/onednn/onednn_library.h"

namespace attune {

const OnednnLibrary& onednn_library() {
  static constexpr OnednnLibrary library{"onednn3", "onednn3.gemm", "oneDNN 3 matmul, every implementation it offers"};
  return library;
}

}  // namespace attune
