// SPDX-License-Identifier: MIT
#include "ops/gemm/gemm_family.h"

namespace attune {

const FamilySpec& gemm_a16w16_family() {
  using enum ColumnKind;
  static const FamilySpec family = {
      .number = OpId::gemm_a16w16,
      .op = "gemm_a16w16",
      .title = "x[M,K]·w[N,K]ᵀ (+bias), 16- and 32-bit floats",
      .default_file = "bf16_tuned_gemm.csv",
      .stem = "bf16",
      .variable = "GEMM_BF16",
      .key = {{"M", "m", integer, "", false},
              {"N", "n", integer, "", false},
              {"K", "k", integer, "", false},
              {"bias", "bias", flag, "0", false},
              {"dtype", "dtype", dtype, "bf16", false},
              {"outdtype", "outdtype", dtype, "bf16", false},
              {"scaleAB", "scale_ab", flag, "0", false},
              {"bpreshuffle", "bpreshuffle", flag, "0", false},
              {"trans_a", "trans_a", flag, "0", true},
              {"trans_b", "trans_b", flag, "1", true}},
      .results = {"libtype", "solidx", "splitK", "us", "kernelName", "err_ratio", "tflops", "bw"},
      .baselines = {"onednn.gemm", "blis.gemm", "openblas.gemm", "portable.gemm", "fake.gemm"},
      .rows = "m",
      .columns = "n",
      .packed = "bpreshuffle",
      .pads_rows = true,
  };
  return family;
}

}  // namespace attune
