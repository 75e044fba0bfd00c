// SPDX-License-Identifier: MIT
#pragma once
#include <string>

/// The dimensions of well-known models, for the tests of this folder: the fields of config.json from which shapes are
/// made, of the named repositories on huggingface.co. Only these numbers are copied.
namespace attune::known_models {

// meta-llama/Llama-3.1-8B
inline const std::string kLlama8B = R"({"model_type": "llama", "torch_dtype": "bfloat16", "hidden_size": 4096,
  "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 32,
  "vocab_size": 128256, "attention_bias": false, "mlp_bias": false, "hidden_act": "silu"})";
// meta-llama/Llama-3.1-70B
inline const std::string kLlama70B = R"({"model_type": "llama", "torch_dtype": "bfloat16", "hidden_size": 8192,
  "intermediate_size": 28672, "num_attention_heads": 64, "num_key_value_heads": 8, "num_hidden_layers": 80,
  "vocab_size": 128256, "attention_bias": false, "mlp_bias": false, "hidden_act": "silu"})";
// meta-llama/Llama-3.1-405B
inline const std::string kLlama405B = R"({"model_type": "llama", "torch_dtype": "bfloat16", "hidden_size": 16384,
  "intermediate_size": 53248, "num_attention_heads": 128, "num_key_value_heads": 8, "num_hidden_layers": 126,
  "vocab_size": 128256, "attention_bias": false, "mlp_bias": false, "hidden_act": "silu"})";
// Qwen/Qwen3-32B: head_dim is not hidden_size / num_attention_heads.
inline const std::string kQwen32B = R"({"model_type": "qwen3", "torch_dtype": "bfloat16", "hidden_size": 5120,
  "intermediate_size": 25600, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128,
  "num_hidden_layers": 64, "vocab_size": 151936, "attention_bias": false, "hidden_act": "silu"})";
// Qwen/Qwen3-30B-A3B
inline const std::string kQwen30BA3B = R"({"model_type": "qwen3_moe", "torch_dtype": "bfloat16", "hidden_size": 2048,
  "intermediate_size": 6144, "moe_intermediate_size": 768, "num_experts": 128, "num_experts_per_tok": 8,
  "decoder_sparse_step": 1, "mlp_only_layers": [], "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128,
  "num_hidden_layers": 48, "vocab_size": 151936, "attention_bias": false, "hidden_act": "silu"})";
// Qwen/Qwen3-235B-A22B
inline const std::string kQwen235B = R"({"model_type": "qwen3_moe", "torch_dtype": "bfloat16", "hidden_size": 4096,
  "intermediate_size": 12288, "moe_intermediate_size": 1536, "num_experts": 128, "num_experts_per_tok": 8,
  "decoder_sparse_step": 1, "mlp_only_layers": [], "num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 128,
  "num_hidden_layers": 94, "vocab_size": 151936, "attention_bias": false, "hidden_act": "silu"})";
// deepseek-ai/DeepSeek-V3
inline const std::string kDeepSeekV3 = R"({"model_type": "deepseek_v3", "torch_dtype": "bfloat16", "hidden_size": 7168,
  "intermediate_size": 18432, "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1,
  "num_experts_per_tok": 8, "first_k_dense_replace": 3, "moe_layer_freq": 1, "num_attention_heads": 128,
  "num_key_value_heads": 128, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
  "qk_rope_head_dim": 64, "v_head_dim": 128, "num_hidden_layers": 61, "vocab_size": 129280, "attention_bias": false,
  "hidden_act": "silu", "quantization_config": {"activation_scheme": "dynamic", "fmt": "e4m3", "quant_method": "fp8",
  "weight_block_size": [128, 128]}})";
// moonshotai/Kimi-K2-Instruct, without its quantization_config, because the tables are of bf16.
inline const std::string kKimiK2 = R"({"model_type": "kimi_k2", "torch_dtype": "bfloat16", "hidden_size": 7168,
  "intermediate_size": 18432, "moe_intermediate_size": 2048, "n_routed_experts": 384, "n_shared_experts": 1,
  "num_experts_per_tok": 8, "first_k_dense_replace": 1, "moe_layer_freq": 1, "num_attention_heads": 64,
  "num_key_value_heads": 64, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
  "qk_rope_head_dim": 64, "v_head_dim": 128, "num_hidden_layers": 61, "vocab_size": 163840, "attention_bias": false,
  "hidden_act": "silu"})";
// mistralai/Mixtral-8x7B-v0.1
inline const std::string kMixtral8x7B = R"({"model_type": "mixtral", "torch_dtype": "bfloat16", "hidden_size": 4096,
  "intermediate_size": 14336, "num_local_experts": 8, "num_experts_per_tok": 2, "num_attention_heads": 32,
  "num_key_value_heads": 8, "num_hidden_layers": 32, "vocab_size": 32000, "hidden_act": "silu"})";
// openai/gpt-oss-120b; gpt-oss-20b has 24 layers and 32 experts.
inline const std::string kGptOss120B = R"({"model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880,
  "num_local_experts": 128, "num_experts_per_tok": 4, "experts_per_token": 4, "num_attention_heads": 64,
  "num_key_value_heads": 8, "head_dim": 64, "num_hidden_layers": 36, "vocab_size": 201088, "attention_bias": true,
  "hidden_act": "silu", "quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert":
  ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]}})";
// Qwen/Qwen3-VL-32B-Instruct: the language model is Qwen3-32B.
inline const std::string kQwenVl32B = R"({"model_type": "qwen3_vl", "text_config": {"model_type": "qwen3_vl_text",
  "dtype": "bfloat16", "hidden_size": 5120, "intermediate_size": 25600, "num_attention_heads": 64,
  "num_key_value_heads": 8, "head_dim": 128, "num_hidden_layers": 64, "vocab_size": 151936, "attention_bias": false,
  "hidden_act": "silu"}, "vision_config": {"hidden_size": 1152, "num_heads": 16}})";

// google/gemma-3-4b-it: numbers of heads, head_dim and vocab_size are missing, because they are the class's defaults.
inline const std::string kGemma3Of4B = R"({"model_type": "gemma3", "torch_dtype": "bfloat16", "text_config":
  {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34},
  "vision_config": {"model_type": "siglip_vision_model", "hidden_size": 1152}})";
// meta-llama/Llama-4-Maverick-17B-128E: every second layer has experts, including a shared one.
inline const std::string kLlama4Maverick = R"({"model_type": "llama4", "text_config": {"model_type": "llama4_text",
  "torch_dtype": "bfloat16", "hidden_size": 5120, "intermediate_size": 8192, "intermediate_size_mlp": 16384,
  "interleave_moe_layer_step": 2, "num_local_experts": 128, "num_experts_per_tok": 1, "num_attention_heads": 40,
  "num_key_value_heads": 8, "head_dim": 128, "num_hidden_layers": 48, "vocab_size": 202048, "hidden_act": "silu"},
  "vision_config": {"hidden_size": 1408}})";

}  // namespace attune::known_models
