// SPDX-License-Identifier: MIT
#include "ops/gemm/gemm_family.h"

#include <utility>

#include "ops/counted_work.h"
#include "ops/epilogue.h"
#include "ops/gemm/gemm_samples.h"

namespace attune {

namespace {

/// An attribute that the older tuners do not have: in a text and a table only where it is not at its default.
AttributeSpec extra(std::string_view name, ColumnKind kind, std::string_view default_value,
                    std::vector<std::string_view> names, std::string_view help) {
  return {.name = name,
          .column = name,
          .kind = kind,
          .default_value = default_value,
          .always = false,
          .optional = true,
          .allowed = std::move(names),
          .help = help};
}

std::optional<Problem> plain_product(const ModelLayer& layer) {
  if (layer.format != WeightFormat::plain || layer.experts != nullptr) return std::nullopt;
  return product_of_layer("gemm_a16w16", layer,
                          {{"dtype", std::string(name(layer.dtype))},
                           {"outdtype", std::string(name(layer.out_dtype))},
                           {"bias", layer.bias ? "1" : "0"}});
}

}  // namespace

const FamilySpec& gemm_a16w16_family() {
  using enum ColumnKind;
  static const std::vector<std::string_view> types = {"bf16", "fp16", "fp32"};
  static const std::vector<std::string_view> activations(kActivations.begin(), kActivations.end());
  static const std::vector<std::string_view> factors(kFactors.begin(), kFactors.end());
  static const FamilySpec family = {
      .number = OpId::gemm_a16w16,
      .op = "gemm_a16w16",
      .title = "x[M,K]·w[N,K]ᵀ (+bias), 16- and 32-bit floats",
      .default_file = "bf16_tuned_gemm.csv",
      .stem = "bf16",
      .variable = "GEMM_BF16",
      .key =
          {{.name = "m", .column = "M", .help = "rows of x: tokens"},
           {.name = "n", .column = "N", .help = "rows of the weights: outputs of the layer"},
           {.name = "k", .column = "K", .help = "columns of x and of the weights"},
           {.name = "bias", .column = "bias", .kind = flag, .default_value = "0", .help = "add a bias of N elements"},
           {.name = "dtype",
            .column = "dtype",
            .kind = dtype,
            .default_value = "bf16",
            .allowed = types,
            .help = "type of x and the weights"},
           {.name = "outdtype",
            .column = "outdtype",
            .kind = dtype,
            .default_value = "bf16",
            .follows = "dtype",
            .allowed = types,
            .help = "type of the result"},
           {.name = "scale_ab",
            .column = "scaleAB",
            .kind = flag,
            .default_value = "0",
            .always = false,
            .help = "per-tensor scales (fp8 inputs)"},
           {.name = "bpreshuffle",
            .column = "bpreshuffle",
            .kind = flag,
            .default_value = "0",
            .always = false,
            .help = "weights packed ahead, in a layout that the candidate names"},
           extra("trans_a", flag, "0", {}, "x is stored K×M"),
           extra("trans_b", flag, "1", {}, "the weights are stored N×K, as a linear layer holds them; 0: K×N"),
           extra("act", choice, "none", activations, "activation of the sum"),
           extra("alpha", choice, "1", factors, "factor of the product; any: an operand"),
           extra("beta", choice, "0", factors,
                 "factor of the operand residual (M×N), which is added before the activation"),
           extra("out_scale", flag, "0", {}, "multiply the result by the operand out_scale, after the activation")},
      .text_order = {"m", "n", "k", "dtype", "outdtype", "bias", "scale_ab", "bpreshuffle", "trans_a", "trans_b", "act",
                     "alpha", "beta", "out_scale"},
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
      .of_layer = plain_product,
      .samples = gemm_a16w16_samples(),
  };
  return family;
}

}  // namespace attune
