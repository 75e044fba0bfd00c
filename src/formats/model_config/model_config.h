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

/// Bounds of what is read: a config.json with long lists of modules is some hundred kilobytes.
inline constexpr uint64_t kMaxModelConfigBytes = 8ull << 20;
inline constexpr int kMaxModelConfigDepth = 32;

/// Attention whose queries, keys and values pass through narrow projections (DeepSeek-V2 and later).
struct LatentAttention {
  std::optional<int64_t> q_lora_rank;  ///< None: the query is projected in one step.
  int64_t kv_lora_rank = 0;
  int64_t qk_nope_head_dim = 0, qk_rope_head_dim = 0, v_head_dim = 0;
  int64_t index_heads = 0, index_head_dim = 0;  ///< Of the indexer of sparse attention (DeepSeek-V3.2); 0: none.
};

/// The experts of a layer. Names of fields as the file spells them, for messages.
struct Experts {
  int64_t num = 0, per_token = 0;
  int64_t intermediate = 0;         ///< Of one.
  int64_t shared_intermediate = 0;  ///< Of all shared experts, which are one product; 0: none.
  std::string_view intermediate_field, shared_field;
  bool router_bias = false;
  std::string_view activation;  ///< `ActivationType.Silu`, as tables of fmoe say it.
};

/// The dimensions of a language model as `config.json` has them: before any division among devices.
struct ModelConfig {
  std::string file;  ///< For messages.
  std::string model_type;
  std::optional<DType> dtype;  ///< bf16, fp16 or fp32.
  int64_t hidden = 0, vocab = 0;
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
  bool gated_attention = false;  ///< The query's projection is twice as wide: half of it is an output gate.
  bool qkv_bias = false, o_bias = false, mlp_bias = false;
  std::optional<int64_t> dense_intermediate;  ///< None: no layer is dense.
  std::string_view dense_field;               ///< As the file spells it, for messages.
  std::optional<Experts> experts;             ///< None: all layers are dense.
  std::optional<LatentAttention> latent;
  Quantisation quantisation;
  std::vector<std::string> notices;  ///< What of the model is not in here: one sentence each.
};

/// Reads a Hugging Face `config.json`, given its folder or itself; a multimodal model's `text_config` (`llm_config`,
/// `language_config`) is the language model. Throws invalid_input, with the file and the field, for what is missing, of
/// a wrong type, out of range, or of an architecture whose layers are of another kind. Fields and formulas:
/// docs/formats/model_config.md.
ModelConfig read_model_config(const std::filesystem::path& folder_or_file);
/// The same for text in memory; `file` stands in messages.
ModelConfig parse_model_config(std::string_view content, const std::string& file);

}  // namespace attune
