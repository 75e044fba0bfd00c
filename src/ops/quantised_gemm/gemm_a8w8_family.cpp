// SPDX-License-Identifier: MIT
// The older tuners' table has these columns (ROCm/aiter, aiter/configs; MIT), but not the three optional ones.
#include "ops/counted_work.h"
#include "ops/quantised_gemm/quantised_gemm_op.h"

namespace attune {
namespace {

/// Every type, kind of scale and remainder, below and above the block sizes of kernels.
constexpr std::string_view kSamples[] = {"m=1 n=1 k=1",
                                         "m=1 n=64 k=128",
                                         "m=3 n=5 k=64 outdtype=fp16",
                                         "m=7 n=33 k=65 bias=1",
                                         "m=17 n=29 k=101 bias=1 outdtype=fp16",
                                         "m=2 n=40 k=1000 scale=tensor",
                                         "m=16 n=48 k=96 scale=tensor bias=1",
                                         "m=33 n=70 k=300",
                                         "m=5 n=130 k=1030 bias=1",
                                         "m=64 n=64 k=4",
                                         "m=1 n=31 k=96 q_dtype_w=e4m3fn",
                                         "m=9 n=40 k=130 q_dtype_w=e4m3fnuz bias=1 outdtype=fp16",
                                         "m=33 n=47 k=131 q_dtype_w=e4m3fn scale=tensor"};

/// Scales of one matrix are a special case of scales of its rows.
std::optional<Problem> product_of_8_bits(const ModelLayer& layer) {
  const bool is_int8 = layer.format == WeightFormat::int8_channels;
  const bool is_fp8 = layer.format == WeightFormat::fp8_tensor || layer.format == WeightFormat::fp8_channels;
  if (layer.experts != nullptr || (!is_int8 && !is_fp8)) return std::nullopt;
  return product_of_layer("gemm_a8w8", layer, {{"q_dtype_w", is_int8 ? "int8" : "e4m3fn"}});
}

}  // namespace

const FamilySpec& gemm_a8w8_family() {
  using enum ColumnKind;
  static const FamilySpec family = {
      .number = OpId::gemm_a8w8,
      .op = "gemm_a8w8",
      .title = "8-bit product, scales per token and channel",
      .default_file = "a8w8_tuned_gemm.csv",
      .stem = "a8w8",
      .variable = "GEMM_A8W8",
      .key = {{.name = "m", .column = "M", .help = "rows of x: tokens"},
              {.name = "n", .column = "N", .help = "rows of the weights: outputs of the layer"},
              {.name = "k", .column = "K", .help = "columns of x and of the weights"},
              {.name = "q_dtype_w",
               .column = "q_dtype_w",
               .kind = dtype,
               .default_value = "int8",
               .allowed = {"int8", "e4m3fn", "e4m3fnuz"},
               .help = "type of x and the weights"},
              {.name = "outdtype",
               .column = "outdtype",
               .kind = dtype,
               .default_value = "bf16",
               .always = false,
               .optional = true,
               .allowed = {"bf16", "fp16"},
               .help = "type of the result and the bias"},
              {.name = "bias",
               .column = "bias",
               .kind = flag,
               .default_value = "0",
               .always = false,
               .optional = true,
               .help = "add a bias of N elements"},
              {.name = "scale",
               .column = "scale",
               .kind = choice,
               .default_value = "row",
               .always = false,
               .optional = true,
               .allowed = {"row", "tensor"},
               .help = "one scale for each row of x and of the weights, or one for each matrix"}},
      .results = {"kernelId", "splitK", "us", "kernelName", "tflops", "bw", "errRatio"},
      .baselines = {"onednn.gemm_a8w8", "fake.gemm_a8w8"},
      .fallback = "portable.gemm_a8w8",
      .packages = {{"onednn.gemm_a8w8", "cpu", "int8", "libdnnl-dev"}},
      .rows = "m",
      .columns = "n",
      .pads_rows = true,
      .counted_work = counted_8bit_product,
      .of_layer = product_of_8_bits,
      .samples = kSamples,
  };
  return family;
}

}  // namespace attune
