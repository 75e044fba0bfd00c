// SPDX-License-Identifier: MIT
#include "formats/model_config/model_shapes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "attune/error.h"
#include "formats/csv/csv_document.h"
#include "formats/csv/key_cells.h"
#include "testing/known_models.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using namespace known_models;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

ModelShapes shapes(const std::string& config, int64_t tp, std::vector<int64_t> tokens = {1}) {
  return model_shapes(parse_model_config(config, "config.json"), {.tp = tp, .tokens = std::move(tokens)});
}

/// `qkv 1280×8192` for each product, with its differences from gemm_a16w16.
std::vector<std::string> products(const std::string& config, int64_t tp) {
  std::vector<std::string> all;
  for (const LayerProduct& product : shapes(config, tp).products) {
    std::string text = fmt::format("{} {}x{}", product.name, product.n, product.k);
    if (product.family->op != "gemm_a16w16") text += fmt::format(" {}", product.family->op);
    if (product.problems.front().integer_or("bias", 0) != 0) text += " bias";
    all.push_back(text);
  }
  return all;
}

/// A model with a field added or set to another JSON value.
std::string with(std::string config, const std::string& field, const std::string& value) {
  const size_t at = config.find(fmt::format("\"{}\":", field));
  if (at == std::string::npos) return fmt::format("{{\"{}\": {}, {}", field, value, config.substr(1));
  const size_t begin = config.find(':', at) + 1;
  return config.replace(begin, config.find_first_of(",}", begin) - begin, " " + value);
}

std::string shapes_message(const std::string& config, int64_t tp = 1) {
  try {
    shapes(config, tp);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    return error.what();
  }
  return "nothing was thrown";
}

TEST(ShapesOfModels, Llama8BOnOneDevice) {
  EXPECT_THAT(products(kLlama8B, 1), ElementsAre("qkv 6144x4096", "o_proj 4096x4096", "gate_up 28672x4096",
                                                 "down 4096x14336", "lm_head 128256x4096"));
}

TEST(ShapesOfModels, Llama70BOnEightDevices) {
  EXPECT_THAT(products(kLlama70B, 8), ElementsAre("qkv 1280x8192", "o_proj 8192x1024", "gate_up 7168x8192",
                                                  "down 8192x3584", "lm_head 16032x8192"));
}

TEST(ShapesOfModels, Llama405BOnEightDevices) {
  EXPECT_THAT(products(kLlama405B, 8), ElementsAre("qkv 2304x16384", "o_proj 16384x2048", "gate_up 13312x16384",
                                                   "down 16384x6656", "lm_head 16032x16384"));
}

TEST(ShapesOfModels, Qwen32BUsesItsOwnHeadDimension) {
  EXPECT_THAT(products(kQwen32B, 4), ElementsAre("qkv 2560x5120", "o_proj 5120x2048", "gate_up 12800x5120",
                                                 "down 5120x6400", "lm_head 37984x5120"));
}

TEST(ShapesOfModels, Qwen30BA3BHasExpertsInEveryLayer) {
  EXPECT_THAT(products(kQwen30BA3B, 4), ElementsAre("qkv 1280x2048", "o_proj 2048x1024", "router 128x2048",
                                                    "experts 192x2048 fmoe", "lm_head 37984x2048"));
}

TEST(ShapesOfModels, DeepSeekV3OnEightDevicesHasDenseLayersAndLayersWithExperts) {
  const std::string blocks = " gemm_a8w8_blockscale";
  EXPECT_THAT(
      products(kDeepSeekV3, 8),
      ElementsAre("qkv_a 2112x7168" + blocks, "q_a 1536x7168" + blocks, "q_b 3072x1536" + blocks,
                  "kv_a 576x7168" + blocks, "kv_b 4096x512" + blocks, "o_proj 7168x2048" + blocks,
                  "gate_up 4608x7168" + blocks, "down 7168x2304" + blocks, "router 256x7168", "experts 256x7168 fmoe",
                  "shared_gate_up 512x7168" + blocks, "shared_down 7168x256" + blocks, "lm_head 16160x7168"));
}

TEST(ShapesOfModels, MixtralOnTwoDevicesHasNoDenseLayer) {
  EXPECT_THAT(products(kMixtral8x7B, 2), ElementsAre("qkv 3072x4096", "o_proj 4096x2048", "router 8x4096",
                                                     "experts 7168x4096 fmoe", "lm_head 16000x4096"));
}

TEST(ShapesOfModels, GptOssHasBiasesAndFourBitExperts) {
  EXPECT_THAT(products(kGptOss120B, 8), ElementsAre("qkv 640x2880 bias", "o_proj 2880x512 bias", "router 128x2880 bias",
                                                    "experts 360x2880 fmoe", "lm_head 25136x2880"));
  EXPECT_EQ(shapes(kGptOss120B, 8).products[3].problems[0].key(),
            "fmoe token=1 model_dim=2880 inter_dim=360 expert=128 topk=4 act_type=ActivationType.Swiglu dtype=bf16 "
            "q_dtype_a=torch.bfloat16 q_dtype_w=torch.float4_e2m1fn_x2 q_type=QuantType.per_1x32 use_g1u1=1 "
            "doweight_stage1=0");
}

TEST(ShapesOfModels, AVisionLanguageModelIsItsTextConfig) {
  EXPECT_EQ(products(kQwenVl32B, 4), products(kQwen32B, 4));
  EXPECT_THAT(shapes(kQwenVl32B, 4).notices, ElementsAre(HasSubstr("the products of vision_config are skipped")));
}

TEST(ShapesOfModels, Gemma3LeavesOutWhatIsItsClassesDefault) {
  EXPECT_THAT(products(kGemma3Of4B, 1), ElementsAre("qkv 4096x2560", "o_proj 2560x2048", "gate_up 20480x2560",
                                                    "down 2560x10240", "lm_head 262208x2560"));
}

TEST(ShapesOfModels, Llama4MaverickHasDenseLayersOfTheirOwnSizeAndASharedExpert) {
  EXPECT_THAT(
      products(kLlama4Maverick, 8),
      ElementsAre("qkv 896x5120", "o_proj 5120x640", "gate_up 4096x5120", "down 5120x2048", "router 128x5120",
                  "experts 1024x5120 fmoe", "shared_gate_up 2048x5120", "shared_down 5120x1024", "lm_head 25256x5120"));
  EXPECT_THAT(products(with(kLlama4Maverick, "interleave_moe_layer_step", "1"), 8), Not(Contains("down 5120x2048")));
}

TEST(ModelShapes, RowsAreTokensAndForTheHeadSequences) {
  const auto all = model_shapes(parse_model_config(kLlama8B, "c"), {.tokens = {1, 512}, .sequences = {7}}).products;
  EXPECT_EQ(all[0].problems[1].key(), "gemm_a16w16 m=512 n=6144 k=4096 dtype=bf16 outdtype=bf16 bias=0");
  ASSERT_EQ(all[4].problems.size(), 1u);
  EXPECT_EQ(all[4].problems[0].key(), "gemm_a16w16 m=7 n=128256 k=4096 dtype=bf16 outdtype=bf16 bias=0");
}

TEST(ModelShapes, KeysAndValuesAreCopiedWhenThereAreFewerHeadsThanDevices) {
  EXPECT_THAT(products(kQwen235B, 4), Contains("qkv 2304x4096"));
  EXPECT_THAT(products(kQwen235B, 8), Contains("qkv 1280x4096"));
  EXPECT_THAT(products(kLlama405B, 16), Contains("qkv 1280x16384"));
}

TEST(ModelShapes, WhatCannotBeDividedNamesItsField) {
  EXPECT_THAT(shapes_message(kLlama8B, 3),
              StartsWith("config.json: field 'num_attention_heads' is not a multiple of --tp 3"));
  EXPECT_THAT(shapes_message(with(kLlama8B, "num_key_value_heads", "16"), 32), "nothing was thrown");
  const std::string uneven = with(with(kLlama8B, "num_attention_heads", "24"), "num_key_value_heads", "6");
  EXPECT_THAT(shapes_message(with(uneven, "head_dim", "128"), 4), HasSubstr("'num_key_value_heads' is not a multiple"));
  EXPECT_THAT(shapes_message(with(kLlama8B, "intermediate_size", "14337"), 2), HasSubstr("'intermediate_size'"));
  EXPECT_THAT(shapes_message(with(kQwen30BA3B, "moe_intermediate_size", "769"), 2),
              HasSubstr("'moe_intermediate_size'"));
  EXPECT_THAT(shapes_message(with(kGptOss120B, "intermediate_size", "2881"), 2), HasSubstr("'intermediate_size'"));
  EXPECT_THAT(shapes_message(kDeepSeekV3, 256), HasSubstr("'num_attention_heads'"));
}

TEST(ModelShapes, TheVocabularyIsPaddedTo64BeforeItIsDivided) {
  EXPECT_THAT(products(with(kLlama8B, "vocab_size", "32001"), 2), Contains("lm_head 16032x4096"));
}

TEST(ModelShapes, LayersOfTwoKindsGiveTheProductsOfBoth) {
  EXPECT_THAT(products(with(kQwen30BA3B, "mlp_only_layers", "[7]"), 1), Contains("gate_up 12288x2048"));
  EXPECT_THAT(products(with(kQwen30BA3B, "decoder_sparse_step", "2"), 1), Contains("gate_up 12288x2048"));
  EXPECT_THAT(products(with(kDeepSeekV3, "first_k_dense_replace", "0"), 1), Not(Contains(StartsWith("gate_up"))));
  const auto all_dense = products(with(kDeepSeekV3, "first_k_dense_replace", "61"), 1);
  EXPECT_THAT(all_dense, Not(Contains(StartsWith("experts"))));
  EXPECT_THAT(all_dense, Contains("gate_up 36864x7168 gemm_a8w8_blockscale"));
}

TEST(ModelShapes, WithoutAQueryRankTheQueryIsOneProduct) {
  const auto all = products(with(kDeepSeekV3, "q_lora_rank", "null"), 8);
  EXPECT_THAT(all, Contains("q 3072x7168 gemm_a8w8_blockscale"));
  EXPECT_THAT(all, Not(Contains(StartsWith("qkv_a"))));
}

TEST(ModelShapes, TheIndexerOfSparseAttentionIsWholeOnEachDevice) {
  const auto all = products(with(with(kDeepSeekV3, "index_n_heads", "64"), "index_head_dim", "128"), 8);
  EXPECT_THAT(all, Contains("index_q 8192x1536 gemm_a8w8_blockscale"));
  EXPECT_THAT(all, Contains("index_k 128x7168 gemm_a8w8_blockscale"));
  EXPECT_THAT(all, Contains("index_weights 64x7168"));
}

TEST(ModelShapes, AnOutputGateDoublesTheQuery) {
  EXPECT_THAT(products(with(kQwen32B, "attn_output_gate", "true"), 1), Contains("qkv 18432x5120"));
}

TEST(ModelShapes, TheMethodOfQuantisationPicksTheFamily) {
  const auto family_of_qkv = [](const std::string& method) {
    return std::string(shapes(with(kLlama8B, "quantization_config", method), 1).products[0].problems[0].key());
  };
  EXPECT_EQ(family_of_qkv(R"({"quant_method": "fp8"})"), "gemm_a8w8 m=1 n=6144 k=4096 q_dtype_w=e4m3fn");
  EXPECT_EQ(family_of_qkv(R"({"quant_method": "fbgemm_fp8"})"), "gemm_a8w8 m=1 n=6144 k=4096 q_dtype_w=e4m3fn");
  EXPECT_EQ(family_of_qkv(R"({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"input_activations":
      {"num_bits": 8}, "weights": {"num_bits": 8, "type": "int", "strategy": "channel", "group_size": null}}}})"),
            "gemm_a8w8 m=1 n=6144 k=4096 q_dtype_w=int8");
  EXPECT_EQ(family_of_qkv(R"({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"input_activations":
      {"num_bits": 8}, "weights": {"num_bits": 8, "type": "float", "strategy": "block", "block_structure":
      [128, 128]}}}})"),
            "gemm_a8w8_blockscale m=1 n=6144 k=4096");
  EXPECT_EQ(family_of_qkv(R"({"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp4", "qscheme":
      "per_group", "group_size": 32}}})"),
            "gemm_a4w4_blockscale m=1 n=6144 k=4096");
}

TEST(ModelShapes, ModulesThatAreNotQuantisedStayInTheModelsType) {
  const auto kept = [](const std::string& list) {
    return products(with(kLlama8B, "quantization_config", R"({"quant_method": "fp8", "ignore": )" + list + "}"), 1);
  };
  const std::string qkv = "qkv 6144x4096", o = "o_proj 4096x4096", quantised = " gemm_a8w8";
  EXPECT_THAT(kept(R"(["lm_head"])"), Contains(qkv + quantised));
  EXPECT_THAT(kept(R"(["model.layers.*.self_attn"])"), testing::AllOf(Contains(qkv), Contains(o)));
  EXPECT_THAT(kept(R"(["re:.*self_attn.*"])"), testing::AllOf(Contains(qkv), Not(Contains(qkv + quantised))));
  EXPECT_THAT(kept(R"(["re:.*self_attn\\.(o|q)_proj$"])"), testing::AllOf(Contains(qkv), Contains(o)));
  // Only some layers, as the first and the last of Llama-3.1-405B-Instruct-FP8: rows of both families.
  EXPECT_THAT(kept(R"(["model.layers.0.self_attn.o_proj"])"), testing::AllOf(Contains(o), Contains(o + quantised)));
  EXPECT_THAT(kept(R"(["model.layers.0"])"), testing::AllOf(Contains(qkv), Contains(qkv + quantised)));
  EXPECT_THAT(kept(R"(["re:model.layers.\\d+.mlp.down_proj"])"), Contains("down 4096x14336"));
  EXPECT_THAT(kept(R"(["re:.*m*"])"), Contains(qkv + quantised));  // not understood, and reported
  EXPECT_THAT(kept(R"(["re:.*mlp.gate$", "model.layers.0.mlp.gate"])"), Contains("gate_up 28672x4096" + quantised));
}

TEST(ModelShapes, FourBitWeightsBesideWholeActivationsAreOfExpertsOnly) {
  const std::string method = R"({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights":
      {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32}}}, "ignore": )";
  EXPECT_THAT(shapes_message(with(kQwen30BA3B, "quantization_config", method + "[]}")),
              HasSubstr("only tables of experts"));
  // moonshotai/Kimi-K2-Thinking
  const auto found = shapes(with(kQwen30BA3B, "quantization_config", method + R"(["re:.*self_attn.*"]})"), 1);
  EXPECT_THAT(found.products[3].problems[0].key(), HasSubstr("q_dtype_a=torch.bfloat16 q_dtype_w=torch.int4"));
}

TEST(ModelShapes, TheTypeIsTheCallersThenTheModelsThenBf16) {
  const auto type = [](const std::string& config, std::optional<DType> dtype) {
    return model_shapes(parse_model_config(config, "c"), {.tokens = {1}, .dtype = dtype})
        .products[0]
        .problems[0]
        .text("dtype");
  };
  EXPECT_EQ(type(with(kLlama8B, "torch_dtype", "\"float16\""), DType::fp32), "fp32");
  EXPECT_EQ(type(with(kLlama8B, "torch_dtype", "\"float16\""), std::nullopt), "fp16");
  EXPECT_EQ(type(with(kLlama8B, "torch_dtype", "null"), std::nullopt), "bf16");
  EXPECT_THAT(shapes(with(kLlama8B, "torch_dtype", "null"), 1).notices, ElementsAre(HasSubstr("no torch_dtype")));
}

TEST(ModelShapes, AProductBeyondATableIsRefused) {
  const std::string huge = with(with(kLlama8B, "head_dim", "16777216"), "num_attention_heads", "16777216");
  EXPECT_THAT(shapes_message(huge), HasSubstr("a product is too large for a table"));
}

TEST(ModelShapes, ProblemsOfAFamilyAreThereOnce) {
  ModelShapes twice = shapes(kLlama8B, 1, {1, 2});
  twice.products.push_back(twice.products.front());
  EXPECT_EQ(problems_of(twice, *find_family("gemm_a16w16")).size(), 9u);
  EXPECT_THAT(families_of(shapes(kDeepSeekV3, 1)),
              ElementsAre(find_family("gemm_a8w8_blockscale"), find_family("gemm_a16w16"), find_family("fmoe")));
}

// Tables shipped for models of these names.

using Pairs = std::set<std::pair<int64_t, int64_t>>;

/// All N×K of a model at tp 1, 2, 4 and 8.
Pairs ours(const std::string& config) {
  Pairs all;
  for (const int64_t tp : {1, 2, 4, 8}) {
    for (const LayerProduct& product : shapes(config, tp).products) {
      if (product.family->op != "fmoe") all.emplace(product.n, product.k);
    }
  }
  return all;
}

std::filesystem::path table_of(const std::string& name) {
  return shared_data() / "aiter_configs" / "model_configs" / name;
}

Pairs in_table(const std::string& name) {
  const auto document = CsvDocument::read(table_of(name));
  const size_t n = document.require_column("N"), k = document.require_column("K");
  Pairs all;
  for (size_t row = 0; row < document.num_rows(); ++row)
    all.emplace(std::stoll(std::string(document.cell(row, n))), std::stoll(std::string(document.cell(row, k))));
  return all;
}

Pairs without(Pairs from, const Pairs& these) {
  for (const auto& pair : these) from.erase(pair);
  return from;
}

class ShippedModelTables : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(table_of("")))
      GTEST_SKIP() << "the folder of shipped tables is not there (ATTUNE_SHARED_DATA)";
  }
};

/// Rows of a table that the model does not have.
Pairs others(const std::string& table, const std::string& config) { return without(in_table(table), ours(config)); }

TEST_F(ShippedModelTables, EveryLlamaRowIsOneOfOurs) {
  EXPECT_EQ(others("llama70B_untuned_gemm.csv", kLlama70B), Pairs{});
  // Belongs to another model: 192 divides no dimension of Llama-3.1-70B.
  EXPECT_EQ(others("llama70B_untuned_gemm_bf16.csv", kLlama70B), (Pairs{{192, 1024}}));
  EXPECT_EQ(others("llama70B_bf16_tuned_gemm.csv", kLlama70B), (Pairs{{192, 1024}}));
  EXPECT_EQ(others("llama405B_untuned_gemm.csv", kLlama405B), Pairs{});
  EXPECT_EQ(others("llama405B_untuned_gemm_bf16.csv", kLlama405B), Pairs{});
  EXPECT_EQ(others("llama405B_bf16_tuned_gemm.csv", kLlama405B), Pairs{});
}

TEST_F(ShippedModelTables, EveryQwen32BRowIsOneOfOursButThoseOfTheWrongHeadDimension) {
  // The tool that wrote them used hidden_size / heads = 80 as head_dim: qkv (64 + 2·8)·80 = 6400 at tp 8, 32 and 64,
  // o_proj 64·80 = 5120 at tp 4 and 8.
  const Pairs of_head_dim_80 = {{800, 5120}, {200, 5120}, {100, 5120}, {5120, 1280}, {5120, 640}};
  EXPECT_EQ(others("qwen32B_untuned_gemm.csv", kQwen32B), (Pairs{{5120, 1280}}));
  EXPECT_EQ(others("qwen32B_untuned_gemm_bf16.csv", kQwen32B), of_head_dim_80);
  EXPECT_EQ(others("qwen32B_bf16_tuned_gemm.csv", kQwen32B), of_head_dim_80);
  EXPECT_EQ(others("a8w8_blockscale_tuned_gemm_qwen3_vl_32b.csv", kQwenVl32B), Pairs{});
}

TEST_F(ShippedModelTables, EveryQwen235BRowIsOneOfOurs) {
  for (const char* name :
       {"a8w8_blockscale_untuned_gemm_qwen3_235b.csv", "a8w8_blockscale_tuned_gemm_qwen3_235b.csv",
        "a8w8_blockscale_bpreshuffle_untuned_gemm_qwen3_235b.csv",
        "a8w8_blockscale_bpreshuffle_tuned_gemm_qwen3_235b.csv", "a8w8_blockscale_tuned_gemm_qwen3_vl_235b.csv"})
    EXPECT_EQ(others(name, kQwen235B), Pairs{}) << name;
}

TEST_F(ShippedModelTables, EveryKimiK2RowIsOneOfOurs) {
  for (const char* name : {"kimi_bf16_tuned_gemm.csv", "kimik2_bf16_tuned_gemm.csv", "kimik2_bf16_untuned_gemm.csv"})
    EXPECT_EQ(others(name, kKimiK2), Pairs{}) << name;
  EXPECT_EQ(others("kimi_bf16_untuned_gemm.csv", kKimiK2), (Pairs{{8192, 8192}}));  // 8192 is no dimension of the model
}

TEST_F(ShippedModelTables, EveryDeepSeekV3RowIsOneOfOursButThoseOfOtherModels) {
  for (const char* name : {"dsv3_bf16_untuned_gemm.csv", "dsv3_bf16_tuned_gemm.csv",
                           "dsv3_a4w4_blockscale_untuned_gemm.csv", "a8w8_blockscale_untuned_gemm_ds_v3.csv"})
    EXPECT_EQ(others(name, kDeepSeekV3), Pairs{}) << name;
  // V3.2's indexer: its key 128 in one product with the 2112 of qkv_a, its query 64·128 = 8192 in one with q_b.
  const auto and_indexer = [](Pairs more) {
    more.insert({{128, 7168}, {2240, 7168}, {8192, 1536}, {11264, 1536}, {14336, 1536}});
    return more;
  };
  EXPECT_EQ(others("a8w8_blockscale_bpreshuffle_untuned_gemm_dsv3.csv", kDeepSeekV3), and_indexer({}));
  // The weights of the indexer too, and q_b with it at tp 2 and 1. The others belong to no product of the model: 4096
  // and 1280 are the hidden size of Qwen3-235B and its qkv.
  EXPECT_EQ(others("a8w8_blockscale_tuned_gemm_ds_v3.csv", kDeepSeekV3),
            and_indexer({{64, 7168}, {20480, 1536}, {32768, 1536}, {1024, 4096}, {4096, 1280}}));
  // Also rows of Qwen3-235B (4608 and 9216 × 4096) and Llama-3.1-70B (1280×8192, 8192×1024).
  EXPECT_EQ(
      others("dsv3_a8w8_bpreshuffle_tuned_gemm.csv", kDeepSeekV3),
      and_indexer({{64, 7168}, {20480, 1536}, {32768, 1536}, {4608, 4096}, {9216, 4096}, {1280, 8192}, {8192, 1024}}));
}

/// `256 7168 256 8 …`: the key of a row of fmoe without the number of tokens.
std::set<std::string> fmoe_rows(const ModelShapes& shapes) {
  std::set<std::string> all;
  const FamilySpec& fmoe = *find_family("fmoe");
  for (const Problem& problem : problems_of(shapes, fmoe)) all.insert(key_text(fmoe, problem.with("token", "1")));
  return all;
}

std::set<std::string> fmoe_in_table(const std::string& name) {
  const auto document = CsvDocument::read(table_of(name));
  const FamilySpec& fmoe = *find_family("fmoe");
  const KeyCells cells(document, fmoe, Strictness::table);
  std::set<std::string> all;
  for (size_t row = 0; row < document.num_rows(); ++row)
    all.insert(key_text(fmoe, cells.problem(row).with("token", "1")));
  return all;
}

TEST_F(ShippedModelTables, EveryQwen235BRowOfTheExpertsIsOneOfOurs) {
  std::set<std::string> all = fmoe_rows(shapes(kQwen235B, 4));
  all.merge(fmoe_rows(shapes(kQwen235B, 8)));
  EXPECT_EQ(fmoe_in_table("qwen3_235b_bf16_untuned_fmoe.csv"), all);
}

TEST_F(ShippedModelTables, RowsOfQuantisedExpertsAreSpeltAsOurs) {
  const std::string blocks = R"({"quant_method": "fp8", "weight_block_size": [128, 128]})";
  const auto ours_at_4 = fmoe_rows(shapes(with(kQwen235B, "quantization_config", blocks), 4));
  // The other rows of the file have 16 whole experts per device: expert parallelism.
  EXPECT_THAT(fmoe_in_table("a8w8_blockscale_untuned_fmoe_qwen3_235b.csv"), testing::IsSupersetOf(ours_at_4));
  // DeepSeek-V3 with the shared expert as the 257th, of which each token has 9: an engine's fusion. Otherwise equal.
  const std::string fused = with(with(kDeepSeekV3, "n_routed_experts", "257"), "num_experts_per_tok", "9");
  EXPECT_EQ(fmoe_in_table("a8w8_blockscale_untuned_fmoe_ds_v3.csv"), fmoe_rows(shapes(fused, 8)));
}

}  // namespace
}  // namespace attune
