// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/dtype.h"
#include "formats/model_config/quantisation.h"

namespace attune {

/// Bounds for a file: a config.json with long lists of modules has some hundred kilobytes.
inline constexpr uint64_t kMaxModelConfigBytes = 8ull << 20;
inline constexpr int kMaxModelConfigDepth = 32;

/// Attention that passes queries, keys and values through narrow projections (DeepSeek-V2 and later).
struct LatentAttention {
  std::optional<int64_t> q_lora_rank;  ///< nullopt: the query is projected in one step.
  int64_t kv_lora_rank = 0;
  int64_t qk_nope_head_dim = 0, qk_rope_head_dim = 0, v_head_dim = 0;
  int64_t index_heads = 0, index_head_dim = 0;  ///< Sizes of the indexer of sparse attention (DeepSeek-V3.2); 0: none.
};

/// The experts of a layer. The names of fields are spelled as in the file, for messages.
struct Experts {
  int64_t num = 0, per_token = 0;
  int64_t intermediate = 0;         ///< Size of one expert.
  int64_t shared_intermediate = 0;  ///< Size of all shared experts, which are computed as one product; 0: none.
  std::string_view intermediate_field, shared_field;
  bool router_bias = false;
  std::string_view activation;  ///< `ActivationType.Silu`, as spelled in tables of fmoe.
};

/// The dimensions of a language model as in its `config.json`, before any division among devices.
struct ModelConfig {
  std::string file;  ///< For messages.
  std::string model_type;
  std::optional<DType> dtype;  ///< bf16, fp16 or fp32.
  int64_t hidden = 0, vocab = 0;
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
  bool gated_attention = false;  ///< True if the query's projection is twice as wide; half of it is an output gate.
  bool qkv_bias = false, o_bias = false, mlp_bias = false;
  std::optional<int64_t> dense_intermediate;  ///< nullopt: no layer is dense.
  std::string_view dense_field;               ///< Spelled as in the file, for messages.
  std::optional<Experts> experts;             ///< nullopt: all layers are dense.
  std::optional<LatentAttention> latent;
  Quantisation quantisation;
  std::vector<std::string> notices;  ///< Parts of the model that are not represented: one sentence each.
};

/// Reads a Hugging Face `config.json`, given the file or its folder. The language model of a multimodal model is its
/// `text_config` (`llm_config`, `language_config`). Throws invalid_input, naming the file and the field, for fields
/// that are missing, of a wrong type or out of range, and for an architecture with layers of another kind. Fields and
/// formulas: docs/formats/model_config.md.
ModelConfig read_model_config(const std::filesystem::path& folder_or_file);
/// Like read_model_config(), for text in memory; `file` is used in messages.
ModelConfig parse_model_config(std::string_view content, const std::string& file);

}  // namespace attune
