// SPDX-License-Identifier: MIT
// The families' tables as shipped with the older tuners (ROCm/aiter, aiter/configs; MIT): names and columns are facts.
#include "ops/family.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "ops/counted_work.h"
#include "ops/op.h"

namespace attune {
namespace {

using enum ColumnKind;

const AttributeSpec kB{"batch", "B"}, kM{"m", "M"}, kN{"n", "N"}, kK{"k", "K"};
const AttributeSpec kWeightType{"q_dtype_w", "q_dtype_w", dtype, "int8"};

std::vector<AttributeSpec> fmoe_key() {
  return {{"token", "token"},
          {"model_dim", "model_dim"},
          {"inter_dim", "inter_dim"},
          {"expert", "expert"},
          {"topk", "topk"},
          {"act_type", "act_type", text},
          {"dtype", "dtype", dtype},
          {"q_dtype_a", "q_dtype_a", text},
          {"q_dtype_w", "q_dtype_w", text},
          {"q_type", "q_type", text},
          {"use_g1u1", "use_g1u1", flag},
          {"doweight_stage1", "doweight_stage1", flag}};
}

/// Types and scales of the experts, as spelled in tables of fmoe.
struct ExpertTypes {
  std::string activations, weights, scales;
};

ExpertTypes expert_types(WeightFormat format, DType dtype) {
  const std::string own(torch_name(dtype)), fp8(torch_name(DType::e4m3fn)), int8(torch_name(DType::int8)),
      fp4 = "torch.float4_e2m1fn_x2";
  switch (format) {
    case WeightFormat::int8_channels:
      return {int8, int8, "QuantType.per_Token"};
    case WeightFormat::fp8_tensor:
      return {fp8, fp8, "QuantType.per_Tensor"};
    case WeightFormat::fp8_channels:
      return {fp8, fp8, "QuantType.per_Token"};
    case WeightFormat::fp8_blocks:
      return {fp8, fp8, "QuantType.per_1x128"};
    case WeightFormat::mxfp4:
      return {fp4, fp4, "QuantType.per_1x32"};
    case WeightFormat::mxfp4_experts:
      return {own, fp4, "QuantType.per_1x32"};
    case WeightFormat::int4_experts:
      return {own, "torch.int4", "QuantType.per_1x32"};
    case WeightFormat::plain:
      break;
  }
  return {own, own, "QuantType.No"};
}

std::optional<Problem> fmoe_of_layer(const ModelLayer& layer) {
  if (layer.experts == nullptr) return std::nullopt;
  const ExpertTypes types = expert_types(layer.format, layer.dtype);
  return Problem("fmoe", {{"token", std::to_string(layer.m)},
                          {"model_dim", std::to_string(layer.k)},
                          {"inter_dim", std::to_string(layer.n)},
                          {"expert", std::to_string(layer.experts->num)},
                          {"topk", std::to_string(layer.experts->per_token)},
                          {"act_type", std::string(layer.experts->activation)},
                          {"dtype", std::string(name(layer.dtype))},
                          {"q_dtype_a", types.activations},
                          {"q_dtype_w", types.weights},
                          {"q_type", types.scales},
                          {"use_g1u1", "1"},
                          {"doweight_stage1", "0"}});
}

const std::vector<std::string_view> kBare = {"kernelId", "splitK", "us", "kernelName", "tflops", "bw", "errRatio"};
const std::vector<std::string_view> kWithLibrary = {"libtype",    "kernelId", "splitK", "us",
                                                    "kernelName", "tflops",   "bw",     "errRatio"};
const std::vector<std::string_view> kFmoe = {"block_m",     "ksplit", "us1", "kernelName1", "err1",   "us2",
                                             "kernelName2", "err2",   "us",  "run_1stage",  "tflops", "bw"};

/// Families whose tables are read and kept while no op of this build computes them.
std::vector<FamilySpec> foreign_families() {
  const auto plain_product = [](OpId number, std::string_view op, std::string_view title, std::string_view file,
                                std::string_view stem, std::string_view variable, std::vector<AttributeSpec> key,
                                const std::vector<std::string_view>& results) {
    return FamilySpec{.number = number,
                      .op = op,
                      .title = title,
                      .default_file = file,
                      .stem = stem,
                      .variable = variable,
                      .key = std::move(key),
                      .results = results,
                      .baselines = {},
                      .rows = "m",
                      .columns = "n",
                      .pads_rows = true,
                      .counted_work = counted_8bit_product};
  };
  const auto with_packed_weights = [](FamilySpec family) {
    family.is_packed = true;
    return family;
  };
  const auto without_padding = [](FamilySpec family) {
    family.pads_rows = false;
    return family;
  };
  const auto counted_as = [](CountedWork (*work)(const Problem&), FamilySpec family) {
    family.counted_work = work;
    return family;
  };
  using enum OpId;
  return {
      with_packed_weights(plain_product(gemm_a8w8_bpreshuffle, "gemm_a8w8_bpreshuffle",
                                        "8-bit product, weights stored in tiles", "a8w8_bpreshuffle_tuned_gemm.csv",
                                        "a8w8_bpreshuffle", "GEMM_A8W8_BPRESHUFFLE", {kM, kN, kK, kWeightType},
                                        kWithLibrary)),
      with_packed_weights(plain_product(gemm_a8w8_blockscale_bpreshuffle, "gemm_a8w8_blockscale_bpreshuffle",
                                        "fp8 block-scaled product, weights stored in tiles",
                                        "a8w8_blockscale_bpreshuffle_tuned_gemm.csv", "a8w8_blockscale_bpreshuffle",
                                        "GEMM_A8W8_BLOCKSCALE_BPRESHUFFLE", {kM, kN, kK}, kWithLibrary)),
      counted_as(counted_16bit_product,
                 without_padding(plain_product(batched_gemm_bf16, "batched_gemm_bf16", "B independent bf16 products",
                                               "bf16_tuned_batched_gemm.csv", "bf16 batched", "BF16_BATCHED_GEMM",
                                               {kB, kM, kN, kK}, kBare))),
      without_padding(plain_product(batched_gemm_a8w8, "batched_gemm_a8w8", "B independent 8-bit products",
                                    "a8w8_tuned_batched_gemm.csv", "a8w8 batched", "A8W8_BATCHED_GEMM",
                                    {kB, kM, kN, kK}, kBare)),
      {.number = fmoe,
       .op = "fmoe",
       .title = "fused mixture of experts",
       .default_file = "tuned_fmoe.csv",
       .stem = "fmoe",
       .variable = "FMOE",
       .key = fmoe_key(),
       .results = kFmoe,
       .parts = {{"us1", "kernelName1", "err1"}, {"us2", "kernelName2", "err2"}},
       .baselines = {},
       .rows = "token",
       .counted_work = counted_experts,
       .max_err_ratio = 0.1,
       .of_layer = fmoe_of_layer},
  };
}

std::vector<FamilySpec> make_families() {
  std::vector<FamilySpec> all = foreign_families();
  auto next = static_cast<uint16_t>(OpId::first_registered);
  for (const Op* op : ops()) {
    FamilySpec family = op->family();
    family.tunable = true;
    if (family.number == OpId::first_registered) family.number = static_cast<OpId>(next++);
    std::erase_if(all, [&](const FamilySpec& known) { return known.op == family.op; });
    all.push_back(std::move(family));
  }
  std::sort(all.begin(), all.end(), [](const FamilySpec& a, const FamilySpec& b) { return a.number < b.number; });
  return all;
}

}  // namespace

std::optional<size_t> choice_number(std::span<const std::string_view> choices, std::string_view text) {
  const auto number = parse_double(text);
  for (size_t i = 0; i < choices.size(); ++i) {
    const auto whole = parse_int(choices[i]);
    if (equal_ignoring_case(choices[i], text) || (whole && number && *number == static_cast<double>(*whole))) return i;
  }
  return std::nullopt;
}

std::span<const FamilySpec> families() {
  static const std::vector<FamilySpec> all = make_families();
  return all;
}

const FamilySpec* find_family(std::string_view op) {
  if (op.starts_with("ck_")) op.remove_prefix(3);
  for (const FamilySpec& family : families()) {
    if (family.op == op) return &family;
  }
  return nullptr;
}

const FamilySpec* family_option(std::string_view op) {
  if (op.empty()) return nullptr;
  if (const FamilySpec* family = find_family(op)) return family;
  fail(ErrorCode::invalid_input, "unknown family, see `attune list ops`: '{}'", op);
}

const FamilySpec& family_of_foreign_file(std::string_view op, std::string_view option, std::string_view file) {
  const FamilySpec& family = *find_family(op);
  if (const FamilySpec* named = family_option(option); named != nullptr && named != &family)
    fail(ErrorCode::invalid_input, "{} holds problems of {}, omit --op: '{}'", file, op, option);
  return family;
}

bool gives_default(const FamilySpec& family, const Candidate& default_config) noexcept {
  const auto& libraries = family.baselines;
  return is_of_library(default_config) || default_config.solver == family.stock ||
         std::find(libraries.begin(), libraries.end(), default_config.solver) != libraries.end();
}

const FamilySpec& default_family() { return families().front(); }

const AttributeSpec* find_column(const FamilySpec& family, std::string_view attribute) {
  const auto found = std::find_if(family.key.begin(), family.key.end(),
                                  [&](const AttributeSpec& key) { return key.name == attribute; });
  return found == family.key.end() ? nullptr : &*found;
}

std::optional<int64_t> rows_of(const Problem& problem) {
  const FamilySpec* family = find_family(problem.op());
  if (family == nullptr || family->rows.empty()) return std::nullopt;
  return problem.integer(family->rows);
}

}  // namespace attune
