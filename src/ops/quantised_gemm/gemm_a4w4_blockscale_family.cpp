// SPDX-License-Identifier: MIT
// The older tuners' table has these columns (ROCm/aiter, aiter/configs; MIT), but not the two optional ones.
#include "ops/counted_work.h"
#include "ops/quantised_gemm/quantised_gemm_op.h"

namespace attune {
namespace {

/// Whole and partial blocks, odd rows, whose last byte holds one element, and packed weights.
constexpr std::string_view kMxfp4Samples[] = {"m=1 n=1 k=1",
                                              "m=1 n=64 k=128",
                                              "m=2 n=40 k=31",
                                              "m=7 n=33 k=33",
                                              "m=16 n=48 k=96 outdtype=fp16",
                                              "m=17 n=29 k=101",
                                              "m=33 n=70 k=320 outdtype=fp16",
                                              "m=5 n=130 k=1030",
                                              "m=64 n=64 k=32",
                                              "m=3 n=31 k=513",
                                              "m=4 n=64 k=256 bpreshuffle=1",
                                              "m=19 n=45 k=99 outdtype=fp16 bpreshuffle=1"};

std::optional<Problem> product_of_mxfp4(const ModelLayer& layer) {
  if (layer.format != WeightFormat::mxfp4 || layer.experts != nullptr) return std::nullopt;
  return product_of_layer("gemm_a4w4_blockscale", layer);
}

}  // namespace

const FamilySpec& gemm_a4w4_blockscale_family() {
  using enum ColumnKind;
  static const FamilySpec family = {
      .number = OpId::gemm_a4w4_blockscale,
      .op = "gemm_a4w4_blockscale",
      .title = "MXFP4 product",
      .default_file = "a4w4_blockscale_tuned_gemm.csv",
      .stem = "a4w4_blockscale",
      .variable = "GEMM_A4W4",
      .key = {{.name = "m", .column = "M", .help = "rows of x: tokens"},
              {.name = "n", .column = "N", .help = "rows of the weights: outputs of the layer"},
              {.name = "k", .column = "K", .help = "columns of x and of the weights"},
              {.name = "outdtype",
               .column = "outdtype",
               .kind = dtype,
               .default_value = "bf16",
               .always = false,
               .optional = true,
               .allowed = {"bf16", "fp16"},
               .help = "type of the result"},
              {.name = "bpreshuffle",
               .column = "bpreshuffle",
               .kind = flag,
               .default_value = "0",
               .always = false,
               .optional = true,
               .help = "pack the weights and their scales once for all M"}},
      .results = {"kernelId", "splitK", "us", "kernelName", "tflops", "bw", "errRatio"},
      .baselines = {"onednn.gemm_a4w4_blockscale", "fake.gemm_a4w4_blockscale"},
      .fallback = "portable.gemm_a4w4_blockscale",
      .packages = {{"onednn.gemm_a4w4_blockscale", "cpu", "e2m1", "libdnnl-dev"}},
      .rows = "m",
      .columns = "n",
      .packed = "bpreshuffle",
      .pads_rows = true,
      .counted_work = counted_4bit_product,
      .of_layer = product_of_mxfp4,
      .samples = kMxfp4Samples,
  };
  return family;
}

}  // namespace attune
