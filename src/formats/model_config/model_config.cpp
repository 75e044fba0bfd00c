// SPDX-License-Identifier: MIT
// Meaning and defaults of the fields: huggingface/transformers, src/transformers/models/<type>/configuration_<type>.py
// (llama, qwen2, qwen3, qwen3_moe, qwen3_next, mixtral, deepseek_v3, gpt_oss, glm4_moe, gemma3, llama4) and the
// modeling files beside.
#include "formats/model_config/model_config.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "formats/json_fields.h"

namespace attune {
namespace {

using nlohmann::json;

constexpr int64_t kMaxLayers = 1 << 16;

/// Decoders with the layers of Llama, Mixtral or DeepSeek; unknown types are treated as such, with a notice.
constexpr std::array<std::string_view, 34> kKnown = {
    "llama4_text", "mllama_text_model", "llama",       "mistral",       "mixtral",      "ministral",
    "qwen2",       "qwen2_moe",         "qwen3",       "qwen3_moe",     "qwen2_vl",     "qwen2_vl_text",
    "qwen2_5_vl",  "qwen2_5_vl_text",   "qwen3_vl",    "qwen3_vl_text", "qwen3_vl_moe", "qwen3_vl_moe_text",
    "qwen3_next",  "deepseek_v2",       "deepseek_v3", "deepseek_v32",  "kimi_k2",      "glm_moe_dsa",
    "glm4_moe",    "gpt_oss",           "granite",     "phi3",          "olmo2",        "gemma",
    "gemma2",      "gemma3_text",       "smollm3",     "seed_oss"};
/// Types without a gate in the MLP, or without attention, to which the formulas do not apply.
constexpr std::array<std::string_view, 20> kOtherKinds = {
    "gpt2",     "gpt_neox", "gptj",    "opt", "bloom", "falcon", "mpt",   "phi",     "starcoder2",  "chatglm",
    "nemotron", "bert",     "roberta", "t5",  "mamba", "mamba2", "jamba", "whisper", "gpt_bigcode", "dbrx"};
/// Fields that files of a type omit when they have the defaults of its configuration class, if the general rule would
/// give another number or none.
struct Defaults {
  std::string_view model_type, fields;
};
constexpr std::array<Defaults, 6> kDefaults = {{
    {"gemma", R"({"num_attention_heads": 16, "num_key_value_heads": 16, "head_dim": 256, "vocab_size": 256000})"},
    {"gemma2", R"({"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 256000})"},
    {"gemma3_text", R"({"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 262208})"},
    {"qwen3", R"({"head_dim": 128})"},
    {"gpt_oss", R"({"head_dim": 64})"},
    {"llama4_text",
     R"({"num_key_value_heads": 8, "head_dim": 128, "num_local_experts": 16, "num_experts_per_tok": 1, "vocab_size": 202048,
         "intermediate_size": 8192, "intermediate_size_mlp": 16384, "num_hidden_layers": 48})"},
}};
/// Names of the language model in a multimodal model.
constexpr std::array<std::string_view, 3> kLanguageModels = {"text_config", "llm_config", "language_config"};
/// Types whose queries, keys and values have biases although no field says so; the output has none.
constexpr std::array<std::string_view, 6> kBiasOfQwen2 = {"qwen2",         "qwen2_moe",  "qwen2_vl",
                                                          "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text"};

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The first of several spellings that the file has; nullopt if it has none.
std::optional<std::string_view> first_of(const JsonFields& fields, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (fields.has(name)) return name;
  }
  return std::nullopt;
}

std::optional<DType> dtype_of(const JsonFields& fields) {
  const auto field = first_of(fields, {"dtype", "torch_dtype"});
  if (!field) return std::nullopt;
  const std::string text = *fields.text(*field);
  const auto dtype = parse_dtype(text);
  if (dtype && (*dtype == DType::bf16 || *dtype == DType::fp16 || *dtype == DType::fp32)) return dtype;
  fields.refuse(*field, "expects bfloat16, float16 or float32", text);
}

void read_attention(const JsonFields& fields, ModelConfig& model) {
  model.heads = fields.required("num_attention_heads");
  model.kv_heads = fields.integer("num_key_value_heads").value_or(model.heads);
  const bool bias = fields.flag("attention_bias");
  const bool of_qwen2 = is_one_of(kBiasOfQwen2, model.model_type);
  model.qkv_bias = bias || of_qwen2;
  model.o_bias = bias && !of_qwen2 && model.model_type != "glm4_moe";
  model.gated_attention = model.model_type == "qwen3_next" || fields.flag("attn_output_gate");
  if (const auto rank = fields.integer("kv_lora_rank")) {
    LatentAttention latent;
    latent.q_lora_rank = fields.integer("q_lora_rank");
    latent.kv_lora_rank = *rank;
    latent.qk_nope_head_dim = fields.required("qk_nope_head_dim");
    latent.qk_rope_head_dim = fields.required("qk_rope_head_dim");
    latent.v_head_dim = fields.required("v_head_dim");
    latent.index_heads = fields.integer("index_n_heads").value_or(0);
    if (latent.index_heads > 0) latent.index_head_dim = fields.required("index_head_dim");
    model.latent = latent;
    return;
  }
  if (const auto explicit_dim = fields.integer("head_dim")) {
    model.head_dim = *explicit_dim;
  } else {
    model.head_dim = model.hidden / model.heads;
    if (model.hidden % model.heads != 0)
      fields.refuse("hidden_size",
                    fmt::format("is not a multiple of num_attention_heads ({}) and there is no head_dim", model.heads),
                    std::to_string(model.hidden));
  }
  if (model.heads % model.kv_heads != 0)
    fields.refuse("num_key_value_heads", fmt::format("expects a divisor of num_attention_heads ({})", model.heads),
                  std::to_string(model.kv_heads));
}

/// Tells which layers have experts.
class LayerKinds {
 public:
  explicit LayerKinds(const JsonFields& fields)
      : first_(fields.integer("first_k_dense_replace", 0).value_or(0)),
        step_(fields.integer(first_of(fields, {"interleave_moe_layer_step"}).value_or("decoder_sparse_step"))
                  .value_or(1)),
        dense_(fields.integers("mlp_only_layers")),
        sparse_(fields.integers("moe_layers")) {
    if (fields.is_list("moe_layer_freq"))
      listed_ = fields.integers("moe_layer_freq");  // one flag per layer
    else
      frequency_ = fields.integer("moe_layer_freq").value_or(1);
    std::sort(dense_.begin(), dense_.end());
    std::sort(sparse_.begin(), sparse_.end());
  }
  bool has_experts(int64_t layer) const {
    if (!sparse_.empty()) return std::binary_search(sparse_.begin(), sparse_.end(), layer);
    if (!listed_.empty() && (layer >= static_cast<int64_t>(listed_.size()) || listed_[static_cast<size_t>(layer)] == 0))
      return false;
    return layer >= first_ && layer % frequency_ == 0 && (layer + 1) % step_ == 0 &&
           !std::binary_search(dense_.begin(), dense_.end(), layer);
  }

 private:
  int64_t first_, step_, frequency_ = 1;
  std::vector<int64_t> dense_, sparse_, listed_;
};

std::string_view activation_of(const JsonFields& fields, const ModelConfig& model) {
  if (model.model_type == "gpt_oss") return "ActivationType.Swiglu";
  const auto field = first_of(fields, {"hidden_act", "hidden_activation"});
  const std::string text = field ? *fields.text(*field) : "silu";
  if (text == "silu" || text == "swish") return "ActivationType.Silu";
  if (text.starts_with("gelu")) return "ActivationType.Gelu";
  fields.refuse(*field, "expects silu or gelu, which the tables of fmoe support", text);
}

std::optional<Experts> read_experts(const JsonFields& fields, const ModelConfig& model) {
  const auto field = first_of(fields, {"n_routed_experts", "num_experts", "num_local_experts"});
  if (!field) return std::nullopt;
  Experts experts;
  experts.num = *fields.integer(*field, 0);
  if (experts.num == 0) return std::nullopt;  // dense members of a family have 0
  const auto per_token = first_of(fields, {"num_experts_per_tok", "experts_per_token"});
  experts.per_token = fields.required(per_token.value_or("num_experts_per_tok"));
  if (experts.per_token > experts.num)
    fields.refuse(*per_token, fmt::format("expects at most {} ({})", *field, experts.num),
                  std::to_string(experts.per_token));
  // Mixtral and GPT-OSS have no dense layers, so they use one name for both.
  experts.intermediate_field = first_of(fields, {"moe_intermediate_size"}).value_or("intermediate_size");
  experts.intermediate = fields.required(experts.intermediate_field);
  if (const auto shared = fields.integer("shared_expert_intermediate_size", 0)) {
    experts.shared_intermediate = *shared;
    experts.shared_field = "shared_expert_intermediate_size";
  } else if (const auto num_shared = fields.integer("n_shared_experts", 0)) {
    experts.shared_intermediate = *num_shared * experts.intermediate;
    experts.shared_field = experts.intermediate_field;
  } else if (model.model_type == "llama4_text") {  // one shared expert, which no field mentions
    experts.shared_intermediate = experts.intermediate;
    experts.shared_field = experts.intermediate_field;
  }
  experts.router_bias = model.model_type == "gpt_oss";
  experts.activation = activation_of(fields, model);
  return experts;
}

void read_layers(const JsonFields& fields, ModelConfig& model) {
  model.experts = read_experts(fields, model);
  model.mlp_bias = fields.flag("mlp_bias");
  bool dense = !model.experts, sparse = false;
  if (model.experts) {
    const int64_t layers = fields.integer("num_hidden_layers", 1, kMaxLayers).value_or(1);
    const LayerKinds kinds(fields);
    for (int64_t layer = 0; layer < layers; ++layer) (kinds.has_experts(layer) ? sparse : dense) = true;
    if (!sparse) model.experts.reset();
  }
  if (!dense) return;
  model.dense_field = first_of(fields, {"intermediate_size_mlp"}).value_or("intermediate_size");
  model.dense_intermediate = fields.required(model.dense_field);
}

void note_skipped_parts(const JsonFields& outer, const JsonFields& fields, ModelConfig& model) {
  const auto note = [&](const std::string& text) { model.notices.push_back(shown(model.file, 500) + ": " + text); };
  if (!is_one_of(kKnown, model.model_type))
    note(fmt::format("unknown model_type '{}', using Llama's layers", shown(model.model_type)));
  for (const std::string_view tower : {"vision_config", "audio_config"}) {
    if (outer.has(tower)) note(fmt::format("the products of {} are skipped", tower));
  }
  if (fields.has("cross_attention_layers")) note("the projections of the cross-attention layers are skipped");
  bool linear = fields.has("linear_num_value_heads");
  for (const std::string& type : fields.texts("layer_types")) linear = linear || type == "linear_attention";
  if (linear) note("the projections of the linear-attention layers are skipped");
  for (const std::string& entry : model.quantisation.kept) {
    if (Quantisation::understood(entry)) continue;
    note(fmt::format("cannot parse a pattern of modules that are not quantised, ignoring it: {}", shown(entry)));
    break;
  }
}

/// Adds the fields that a file of this type omits; `null` counts as given.
json with_defaults(const json& language, std::string_view model_type) {
  for (const Defaults& known : kDefaults) {
    if (known.model_type != model_type) continue;
    json whole = json::parse(known.fields);
    whole.update(language);
    return whole;
  }
  return language;
}

}  // namespace

ModelConfig parse_model_config(std::string_view content, const std::string& file) {
  const JsonSource source{file, "the config.json of a language model"};
  const json document = parse_json(content, source, kMaxModelConfigDepth);
  if (!document.is_object())
    fail(ErrorCode::invalid_input, "{}: expected a config.json with one object", shown(file, 500));
  const JsonFields outer(document, source);
  std::string within;  // `text_config.`
  for (const std::string_view name : kLanguageModels) {
    if (within.empty() && outer.object(name)) within = name;
  }
  const json language = within.empty() ? document : document.at(within);
  const std::string prefix = within.empty() ? "" : within + '.';

  ModelConfig model;
  model.file = file;
  model.model_type =
      JsonFields(language, source, prefix).text("model_type").value_or(outer.text("model_type").value_or(""));
  const json whole = with_defaults(language, model.model_type);
  const JsonFields fields(whole, source, prefix);
  if (is_one_of(kOtherKinds, model.model_type))
    fields.refuse("model_type", "names an unsupported kind of layers; list their shapes in a CSV", model.model_type);
  model.dtype = dtype_of(fields);
  if (!model.dtype) model.dtype = dtype_of(outer);
  model.hidden = fields.required("hidden_size");
  model.vocab = fields.required("vocab_size");
  read_attention(fields, model);
  read_layers(fields, model);
  const JsonFields& with_method = fields.has("quantization_config") ? fields : outer;
  if (const auto method = with_method.object("quantization_config")) model.quantisation = read_quantisation(*method);
  note_skipped_parts(outer, fields, model);
  return model;
}

ModelConfig read_model_config(const std::filesystem::path& folder_or_file) {
  const bool is_file = folder_or_file.extension() == ".json" && !std::filesystem::is_directory(folder_or_file);
  const auto file = is_file ? folder_or_file : folder_or_file / "config.json";
  return parse_model_config(read_file(file, kMaxModelConfigBytes), file.string());
}

}  // namespace attune
