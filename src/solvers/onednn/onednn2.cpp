// SPDX-License-Identifier: MIT
#include "solvers/onednn/onednn_library.h"

namespace attune {

const OnednnLibrary& onednn_library() {
  static constexpr OnednnLibrary library{"onednn", "onednn.gemm", "oneDNN matmul, every implementation it offers",
                                         "libdnnl.so.2"};
  return library;
}

Support onednn_supports_fp16(const GemmShape&) { return Support::no("oneDNN 2.6 does not support fp16 on a CPU"); }

}  // namespace attune
