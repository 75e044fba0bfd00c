// SPDX-License-Identifier: MIT
// The older tuners' table has these columns (ROCm/aiter, aiter/configs; MIT), but not the two optional ones.
#include "ops/counted_work.h"
#include "ops/quantised_gemm/quantised_gemm_op.h"

namespace attune {
namespace {

/// Both types, whole and partial blocks along N and K, one element in the last block.
constexpr std::string_view kBlockscaleSamples[] = {"m=1 n=1 k=1",
                                                   "m=1 n=128 k=128",
                                                   "m=2 n=40 k=127",
                                                   "m=7 n=129 k=129",
                                                   "m=16 n=256 k=256 outdtype=fp16",
                                                   "m=17 n=300 k=200 q_dtype_w=e4m3fnuz",
                                                   "m=33 n=70 k=385 outdtype=fp16",
                                                   "m=5 n=130 k=1030",
                                                   "m=64 n=257 k=64 q_dtype_w=e4m3fnuz outdtype=fp16",
                                                   "m=3 n=31 k=513"};

std::optional<Problem> product_of_fp8_blocks(const ModelLayer& layer) {
  if (layer.format != WeightFormat::fp8_blocks || layer.experts != nullptr) return std::nullopt;
  return product_of_layer("gemm_a8w8_blockscale", layer);
}

}  // namespace

const FamilySpec& gemm_a8w8_blockscale_family() {
  using enum ColumnKind;
  static const FamilySpec family = {
      .number = OpId::gemm_a8w8_blockscale,
      .op = "gemm_a8w8_blockscale",
      .title = "fp8 product, scales 1×128 and 128×128",
      .default_file = "a8w8_blockscale_tuned_gemm.csv",
      .stem = "a8w8_blockscale",
      .variable = "GEMM_A8W8_BLOCKSCALE",
      .key = {{.name = "m", .column = "M", .help = "rows of x: tokens"},
              {.name = "n", .column = "N", .help = "rows of the weights: outputs of the layer"},
              {.name = "k", .column = "K", .help = "columns of x and of the weights"},
              {.name = "q_dtype_w",
               .column = "q_dtype_w",
               .kind = dtype,
               .default_value = "e4m3fn",
               .optional = true,
               .allowed = {"e4m3fn", "e4m3fnuz"},
               .help = "type of x and the weights",
               .is_device_fp8 = true},
              {.name = "outdtype",
               .column = "outdtype",
               .kind = dtype,
               .default_value = "bf16",
               .always = false,
               .optional = true,
               .allowed = {"bf16", "fp16"},
               .help = "type of the result"}},
      .results = {"libtype", "kernelId", "splitK", "us", "kernelName", "tflops", "bw", "errRatio"},
      .baselines = {"onednn.gemm_a8w8_blockscale", "fake.gemm_a8w8_blockscale"},
      .fallback = "portable.gemm_a8w8_blockscale",
      .packages = {{"onednn.gemm_a8w8_blockscale", "cpu", "e4m3fn", "libdnnl-dev"},
                   {"onednn.gemm_a8w8_blockscale", "cpu", "e4m3fnuz", "libdnnl-dev"}},
      .rows = "m",
      .columns = "n",
      .pads_rows = true,
      .counted_work = counted_8bit_product,
      .of_layer = product_of_fp8_blocks,
      .samples = kBlockscaleSamples,
  };
  return family;
}

}  // namespace attune
