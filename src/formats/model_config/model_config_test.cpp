// SPDX-License-Identifier: MIT
#include "formats/model_config/model_config.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/error.h"
#include "testing/known_models.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using namespace known_models;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string message(const std::string& content) {
  try {
    parse_model_config(content, "m/config.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    return error.what();
  }
  return "nothing was thrown";
}

/// Llama's fields, then others; the last of the same name wins.
std::string llama_and(const std::string& fields) {
  return kLlama8B.substr(0, kLlama8B.size() - 1) + ", " + fields + "}";
}

TEST(ModelConfigs, ADenseModelsDimensionsAreItsFields) {
  const ModelConfig model = parse_model_config(kLlama8B, "config.json");
  EXPECT_EQ(model.hidden, 4096);
  EXPECT_EQ(model.heads, 32);
  EXPECT_EQ(model.kv_heads, 8);
  EXPECT_EQ(model.head_dim, 128);
  EXPECT_EQ(model.vocab, 128256);
  EXPECT_EQ(model.dense_intermediate, 14336);
  EXPECT_EQ(model.dtype, DType::bf16);
  EXPECT_FALSE(model.experts || model.latent);
  EXPECT_THAT(model.notices, IsEmpty());
}

TEST(ModelConfigs, AnExplicitHeadDimensionWins) {
  EXPECT_EQ(parse_model_config(kQwen32B, "c").head_dim, 128);
  EXPECT_EQ(parse_model_config(llama_and(R"("head_dim": null)"), "c").head_dim, 128);
}

TEST(ModelConfigs, WithoutHeadsOfKeysEachQueryHasItsOwn) {
  EXPECT_EQ(parse_model_config(llama_and(R"("num_key_value_heads": null)"), "c").kv_heads, 32);
}

TEST(ModelConfigs, LatentAttentionAndExpertsOfDeepSeekV3) {
  const ModelConfig model = parse_model_config(kDeepSeekV3, "c");
  ASSERT_TRUE(model.latent && model.experts);
  EXPECT_EQ(model.latent->q_lora_rank, 1536);
  EXPECT_EQ(model.latent->v_head_dim, 128);
  EXPECT_EQ(model.experts->num, 256);
  EXPECT_EQ(model.experts->shared_intermediate, 2048);
  EXPECT_EQ(model.dense_intermediate, 18432);
  EXPECT_EQ(model.quantisation.format, WeightFormat::fp8_blocks);
}

TEST(ModelConfigs, NamesOfExpertsInOtherFamilies) {
  const ModelConfig mixtral = parse_model_config(kMixtral8x7B, "c"), oss = parse_model_config(kGptOss120B, "c");
  EXPECT_EQ(mixtral.experts->num, 8);
  EXPECT_EQ(mixtral.experts->intermediate, 14336);
  EXPECT_FALSE(mixtral.dense_intermediate);
  EXPECT_EQ(oss.experts->per_token, 4);
  EXPECT_EQ(oss.quantisation.format, WeightFormat::mxfp4_experts);
}

TEST(ModelConfigs, BiasesThatNoFieldTellsAreTheArchitectures) {
  const ModelConfig qwen2 = parse_model_config(llama_and(R"("model_type": "qwen2")"), "c");
  EXPECT_TRUE(qwen2.qkv_bias);
  EXPECT_FALSE(qwen2.o_bias);
  const ModelConfig llama = parse_model_config(llama_and(R"("attention_bias": true, "mlp_bias": true)"), "c");
  EXPECT_TRUE(llama.qkv_bias && llama.o_bias && llama.mlp_bias);
}

TEST(ModelConfigs, TheTypeMayBeSpeltEitherWayAndStandOutside) {
  EXPECT_EQ(parse_model_config(kQwenVl32B, "c").dtype, DType::bf16);
  EXPECT_EQ(parse_model_config(R"({"torch_dtype": "float16", "text_config": )" + kMixtral8x7B + "}", "c").dtype,
            DType::bf16);
  const std::string silent = R"({"hidden_size": 8, "intermediate_size": 8, "num_attention_heads": 2, "vocab_size": 8})";
  EXPECT_EQ(parse_model_config(R"({"torch_dtype": "float16", "text_config": )" + silent + "}", "c").dtype, DType::fp16);
  EXPECT_EQ(parse_model_config(silent, "c").dtype, std::nullopt);
}

TEST(ModelConfigs, TheLanguageModelHasOneOfSeveralNames) {
  for (const char* name : {"text_config", "llm_config", "language_config"}) {
    EXPECT_EQ(parse_model_config(fmt::format(R"({{"hidden_size": 1, "{}": {}}})", name, kMixtral8x7B), "c").hidden,
              4096);
    EXPECT_THAT(message(fmt::format(R"({{"{}": {{"hidden_size": 8}}}})", name)),
                HasSubstr(fmt::format("field '{}.vocab_size' is missing", name)));
  }
}

TEST(ModelConfigs, DefaultsOfATypeGiveWayToWhatTheFileSays) {
  const auto gemma = [](const std::string& field) {
    return parse_model_config(R"({"model_type": "gemma2", "hidden_size": 64, "intermediate_size": 8)" + field + "}",
                              "c");
  };
  EXPECT_EQ(gemma("").head_dim, 256);
  EXPECT_EQ(gemma(R"(, "head_dim": 32)").head_dim, 32);
  EXPECT_EQ(gemma(R"(, "head_dim": null)").head_dim, 8) << "hidden_size / num_attention_heads";
}

TEST(ModelConfigs, AListOfLayersWithExpertsWins) {
  const auto dense = [](const std::string& layers) {
    return parse_model_config(
               R"({"model_type": "llama4_text", "hidden_size": 64, "num_attention_heads": 1, "num_key_value_heads": 1,
                   "num_hidden_layers": 2, "moe_layers": )" +
                   layers + "}",
               "c")
        .dense_intermediate;
  };
  EXPECT_EQ(dense("[0, 1]"), std::nullopt);
  EXPECT_EQ(dense("[1]"), 16384);
}

TEST(ModelConfigs, SkippedPartsAreReported) {
  EXPECT_THAT(parse_model_config(llama_and(R"("cross_attention_layers": [3])"), "c").notices,
              ElementsAre(HasSubstr("cross-attention")));
  EXPECT_THAT(parse_model_config(llama_and(R"("model_type": "novel")"), "c").notices,
              ElementsAre("c: unknown model_type 'novel', using Llama's layers"));
  EXPECT_THAT(parse_model_config(llama_and(R"("layer_types": ["full_attention", "linear_attention"])"), "c").notices,
              ElementsAre(HasSubstr("linear-attention")));
  EXPECT_THAT(
      parse_model_config(llama_and(R"("quantization_config": {"quant_method": "fp8", "ignore":
      ["re:.*[a-c]+.*"]})"),
                         "c")
          .notices,
      ElementsAre(HasSubstr("cannot parse a pattern of modules that are not quantised, ignoring it: re:.*[a-c]+.*")));
}

TEST(ModelConfigs, ErrorsNameFileAndField) {
  EXPECT_EQ(message(llama_and(R"("num_attention_heads": "32")")),
            "m/config.json: field 'num_attention_heads' expects a whole number from 1 to 16777216, got '32'");
  EXPECT_EQ(message(R"({"text_config": {"hidden_size": 8}})"),
            "m/config.json: field 'text_config.vocab_size' is missing; is this the config.json of a language model?");
  const std::pair<const char*, const char*> cases[] = {
      {R"("hidden_size": -1)", "'hidden_size' expects a whole number"},
      {R"("hidden_size": 0)", "'hidden_size'"},
      {R"("hidden_size": 4096.5)", "'hidden_size'"},
      {R"("hidden_size": true)", "got 'true'"},
      {R"("hidden_size": [[4096]])", "got 'a list'"},
      {R"("vocab_size": 18446744073709551617)", "'vocab_size'"},
      {R"("vocab_size": 1e400)", "not JSON"},
      {R"("head_dim": {})", "got 'an object'"},
      {R"("num_attention_heads": 31)", "'hidden_size' is not a multiple of num_attention_heads (31)"},
      {R"("num_key_value_heads": 5)", "'num_key_value_heads' expects a divisor"},
      {R"("torch_dtype": "float8_e4m3fn")", "'torch_dtype' expects bfloat16"},
      {R"("torch_dtype": 16)", "'torch_dtype' expects a string"},
      {R"("attention_bias": "no")", "'attention_bias' expects true or false"},
      {R"("model_type": "mamba")", "'model_type' names an unsupported kind of layers"},
      {R"("text_config": 3)", "'text_config' expects an object"},
      {R"("kv_lora_rank": 512)", "'qk_nope_head_dim' is missing"},
      {R"("num_experts": 8)", "'num_experts_per_tok' is missing"},
      {R"("num_experts": 8, "num_experts_per_tok": 9)", "'num_experts_per_tok' expects at most num_experts (8)"},
      {R"("num_experts": 8, "num_experts_per_tok": 2, "mlp_only_layers": [1, "2"])",
       "'mlp_only_layers' expects a list"},
      {R"("num_experts": 8, "num_experts_per_tok": 2, "hidden_act": "relu2")", "'hidden_act' expects silu or gelu"},
      {R"("num_experts": 8, "num_experts_per_tok": 2, "num_hidden_layers": 4000000000)", "'num_hidden_layers'"},
      {R"("quantization_config": {})", "'quantization_config.quant_method'"},
      {R"("quantization_config": {"quant_method": "awq"})", "got 'awq'"},
      {R"("quantization_config": {"quant_method": "fp8", "weight_block_size": [64, 64]})",
       "'quantization_config.weight"},
      {R"("quantization_config": {"quant_method": "fp8", "ignore": [3]})", "'quantization_config.ignore'"},
      {R"("quantization_config": {"quant_method": "compressed-tensors", "config_groups": {"g": {"weights": {}}}})",
       "'quantization_config.config_groups.g.weights.num_bits'"},
  };
  for (const auto& [fields, says] : cases) EXPECT_THAT(message(llama_and(fields)), HasSubstr(says)) << fields;
}

TEST(ModelConfigs, WhatIsNoConfigIsRefusedInOneSentence) {
  EXPECT_THAT(message(""), HasSubstr("not JSON"));
  EXPECT_THAT(message("[1, 2]"), HasSubstr("with one object"));
  EXPECT_THAT(message("{\"hidden_size\": \xff}"),
              HasSubstr("m/config.json: not JSON, the fault is near byte 17, correct it or name the "
                        "config.json of a language model"));
  EXPECT_THAT(message("{}"), HasSubstr("'hidden_size' is missing"));
  EXPECT_THAT(message(std::string(1 << 20, '[')), HasSubstr("nested deeper than 32 levels"));
  EXPECT_THAT(
      message("{\"a\": \"" + std::string(1000, 'x') + "\", \"hidden_size\": \"" + std::string(100000, 'y') + "\"}")
          .size(),
      testing::Lt(400u));
}

TEST(ModelConfigs, ListsOfModulesAreBounded) {
  const auto with_ignored = [](const std::string& list) {
    return message(llama_and(fmt::format(R"("quantization_config": {{"quant_method": "fp8", "ignore": [{}]}})", list)));
  };
  EXPECT_THAT(with_ignored(fmt::format("\"{}\"", std::string(501, 'x'))), HasSubstr("names of at most 500 bytes"));
  std::string many = "\"a\"";
  for (int i = 0; i < 200'000; ++i) many += ",\"a\"";
  EXPECT_THAT(with_ignored(many), HasSubstr("expects at most 200000 names"));
}

TEST(ModelConfigs, AFolderOrItsConfigIsRead) {
  const TestFolder folder;
  EXPECT_THROW(read_model_config(folder.path()), Error);
  const auto file = folder.put("config.json", kLlama8B);
  EXPECT_EQ(read_model_config(folder.path()).hidden, 4096);
  EXPECT_EQ(read_model_config(file).file, file.string());
}

}  // namespace
}  // namespace attune
