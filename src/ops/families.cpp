// SPDX-License-Identifier: MIT
// The families' tables as shipped with the older tuners (ROCm/aiter, aiter/configs; MIT): names and columns are facts.
#include "ops/family.h"

#include "base/error.h"
#include "base/text.h"
#include "ops/epilogue.h"
#include "ops/op.h"

namespace attune {
namespace {

using enum ColumnKind;

constexpr KeyColumn kB{"B", "batch", integer, "", false}, kM{"M", "m", integer, "", false},
    kN{"N", "n", integer, "", false}, kK{"K", "k", integer, "", false};
constexpr KeyColumn kWeightType{"q_dtype_w", "q_dtype_w", dtype, "int8", false};

std::vector<KeyColumn> gemm_a16w16_key() {
  return {kM,
          kN,
          kK,
          {"bias", "bias", flag, "0", false},
          {"dtype", "dtype", dtype, "bf16", false},
          {"outdtype", "outdtype", dtype, "bf16", false},
          {"scaleAB", "scale_ab", flag, "0", false},
          {"bpreshuffle", "bpreshuffle", flag, "0", false},
          {"trans_a", "trans_a", flag, "0", true},
          {"trans_b", "trans_b", flag, "1", true},
          {"act", "act", choice, "none", true, kActivations},
          {"alpha", "alpha", choice, "1", true, kFactors},
          {"beta", "beta", choice, "0", true, kFactors},
          {"out_scale", "out_scale", flag, "0", true}};
}

std::vector<KeyColumn> fmoe_key() {
  return {{"token", "token", integer, "", false},         {"model_dim", "model_dim", integer, "", false},
          {"inter_dim", "inter_dim", integer, "", false}, {"expert", "expert", integer, "", false},
          {"topk", "topk", integer, "", false},           {"act_type", "act_type", text, "", false},
          {"dtype", "dtype", dtype, "", false},           {"q_dtype_a", "q_dtype_a", text, "", false},
          {"q_dtype_w", "q_dtype_w", text, "", false},    {"q_type", "q_type", text, "", false},
          {"use_g1u1", "use_g1u1", flag, "", false},      {"doweight_stage1", "doweight_stage1", flag, "", false}};
}

const std::vector<std::string_view> kBare = {"kernelId", "splitK", "us", "kernelName", "tflops", "bw", "errRatio"};
const std::vector<std::string_view> kWithLibrary = {"libtype",    "kernelId", "splitK", "us",
                                                    "kernelName", "tflops",   "bw",     "errRatio"};
const std::vector<std::string_view> kGemmA16w16 = {"libtype",    "solidx",    "splitK", "us",
                                                   "kernelName", "err_ratio", "tflops", "bw"};
const std::vector<std::string_view> kFmoe = {"block_m",     "ksplit", "us1", "kernelName1", "err1",   "us2",
                                             "kernelName2", "err2",   "us",  "run_1stage",  "tflops", "bw"};

std::vector<FamilySpec> make_families() {
  std::vector<FamilySpec> all = {
      {"gemm_a16w16",
       "x[M,K]·w[N,K]ᵀ (+bias), 16- and 32-bit floats",
       "bf16_tuned_gemm.csv",
       "bf16",
       "GEMM_BF16",
       gemm_a16w16_key(),
       kGemmA16w16,
       {"onednn.gemm", "blis.gemm", "openblas.gemm", "portable.gemm", "fake.gemm"},
       true},
      {"gemm_a8w8",
       "8-bit product, scales per token and channel",
       "a8w8_tuned_gemm.csv",
       "a8w8",
       "GEMM_A8W8",
       {kM, kN, kK, kWeightType},
       kBare,
       {},
       true},
      {"gemm_a8w8_bpreshuffle",
       "8-bit product, weights stored in tiles",
       "a8w8_bpreshuffle_tuned_gemm.csv",
       "a8w8_bpreshuffle",
       "GEMM_A8W8_BPRESHUFFLE",
       {kM, kN, kK, kWeightType},
       kWithLibrary,
       {},
       true},
      {"gemm_a8w8_blockscale",
       "fp8 product, scales 1×128 and 128×128",
       "a8w8_blockscale_tuned_gemm.csv",
       "a8w8_blockscale",
       "GEMM_A8W8_BLOCKSCALE",
       {kM, kN, kK},
       kWithLibrary,
       {},
       true},
      {"gemm_a8w8_blockscale_bpreshuffle",
       "fp8 block-scaled product, weights stored in tiles",
       "a8w8_blockscale_bpreshuffle_tuned_gemm.csv",
       "a8w8_blockscale_bpreshuffle",
       "GEMM_A8W8_BLOCKSCALE_BPRESHUFFLE",
       {kM, kN, kK},
       kWithLibrary,
       {},
       true},
      {"gemm_a4w4_blockscale",
       "MXFP4 product",
       "a4w4_blockscale_tuned_gemm.csv",
       "a4w4_blockscale",
       "GEMM_A4W4",
       {kM, kN, kK},
       kBare,
       {},
       true},
      {"batched_gemm_bf16",
       "B independent bf16 products",
       "bf16_tuned_batched_gemm.csv",
       "bf16 batched",
       "BF16_BATCHED_GEMM",
       {kB, kM, kN, kK},
       kBare,
       {}},
      {"batched_gemm_a8w8",
       "B independent 8-bit products",
       "a8w8_tuned_batched_gemm.csv",
       "a8w8 batched",
       "A8W8_BATCHED_GEMM",
       {kB, kM, kN, kK},
       kBare,
       {}},
      {"fmoe", "fused mixture of experts", "tuned_fmoe.csv", "fmoe", "FMOE", fmoe_key(), kFmoe, {}},
  };
  for (FamilySpec& family : all) family.tunable = find_op(family.op) != nullptr;
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

}  // namespace attune
