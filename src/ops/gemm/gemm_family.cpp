// SPDX-License-Identifier: MIT
#include "ops/gemm/gemm_family.h"

#include "ops/counted_work.h"
#include "ops/epilogue.h"
#include "ops/gemm/gemm_samples.h"

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
      .key =
          {{"M", "m", integer, "", false},
           {"N", "n", integer, "", false},
           {"K", "k", integer, "", false},
           {"bias", "bias", flag, "0", false},
           {"dtype", "dtype", dtype, "bf16", false},
           {.column = "outdtype", .attribute = "outdtype", .kind = dtype, .default_value = "bf16", .follows = "dtype"},
           {"scaleAB", "scale_ab", flag, "0", false},
           {"bpreshuffle", "bpreshuffle", flag, "0", false},
           {"trans_a", "trans_a", flag, "0", true},
           {"trans_b", "trans_b", flag, "1", true},
           {"act", "act", choice, "none", true, kActivations},
           {"alpha", "alpha", choice, "1", true, kFactors},
           {"beta", "beta", choice, "0", true, kFactors},
           {"out_scale", "out_scale", flag, "0", true}},
      .results = {"libtype", "solidx", "splitK", "us", "kernelName", "err_ratio", "tflops", "bw"},
      .baselines = {"onednn.gemm", "onednn3.gemm", "blis.gemm", "openblas.gemm", "mkl.gemm", "libxsmm.gemm",
                    "cublaslt.gemm", "fake.gemm"},
      .fallback = "portable.gemm",
      .packages = {{"onednn.gemm", "cpu", "bf16", "libdnnl-dev"},
                   {"openblas.gemm", "cpu", "fp32", "libopenblas-dev"},
                   {"blis.gemm", "cpu", "fp32", "libblis-dev"}},
      .stock = "torch.gemm",
      .rows = "m",
      .columns = "n",
      .packed = "bpreshuffle",
      .pads_rows = true,
      .counted_work = counted_16bit_product,
      .samples = gemm_a16w16_samples(),
  };
  return family;
}

}  // namespace attune
