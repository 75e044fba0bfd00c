// SPDX-License-Identifier: MIT
#include "formats/model_config/model_shapes.h"

#include <algorithm>
#include <set>
#include <span>

#include "base/error.h"
#include "base/text.h"
#include "ops/extent.h"

namespace attune {
namespace {

/// Modules of a layer that form one fused product, as named in lists of modules that are not quantised.
using Modules = std::initializer_list<std::string_view>;

/// A product whose type is not known yet.
struct Product {
  std::string name;
  int64_t n = 0, k = 0;
  bool bias = false;
};

std::string_view gemm_family(WeightFormat format) {
  switch (format) {
    case WeightFormat::fp8_blocks:
      return "gemm_a8w8_blockscale";
    case WeightFormat::int8_channels:
    case WeightFormat::fp8_tensor:
    case WeightFormat::fp8_channels:
      return "gemm_a8w8";
    case WeightFormat::mxfp4:
      return "gemm_a4w4_blockscale";
    case WeightFormat::plain:
    case WeightFormat::mxfp4_experts:
    case WeightFormat::int4_experts:
      break;
  }
  return "gemm_a16w16";
}

/// Types and scales of the experts, as spelled in tables of fmoe.
struct ExpertTypes {
  std::string activations, weights, scales;
};

ExpertTypes expert_types(WeightFormat format, DType dtype) {
  const std::string own(torch_name(dtype)), fp8(torch_name(DType::e4m3fn)), fp4 = "torch.float4_e2m1fn_x2";
  switch (format) {
    case WeightFormat::int8_channels:
      return {std::string(torch_name(DType::int8)), std::string(torch_name(DType::int8)), "QuantType.per_Token"};
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

/// Collects the products of one model; each call adds one.
class Shaping {
 public:
  Shaping(const ModelConfig& model, const ModelShapesOptions& options)
      : model_(model), options_(options), dtype_(options.dtype.value_or(model.dtype.value_or(DType::bf16))) {
    shapes_.notices = model.notices;
    if (!options.dtype && !model.dtype)
      shapes_.notices.push_back(shown(model.file, 500) + ": no torch_dtype, using bf16; choose another with --dtype");
  }

  /// Throws, naming the field, if tp does not divide its value.
  int64_t share(int64_t value, std::string_view field) const {
    if (value % options_.tp == 0) return value / options_.tp;
    fail(ErrorCode::invalid_input, "{}: field '{}' is not a multiple of --tp {}, choose another: {}",
         shown(model_.file, 500), field, options_.tp, value);
  }

  /// Adds a product of a layer, in the model's type or quantised, or both if layers differ.
  void add(const Product& product, Modules modules) {
    const WeightFormat format = model_.quantisation.format;
    const bool experts_only = format == WeightFormat::mxfp4_experts || format == WeightFormat::int4_experts;
    const PlainModules kept = format == WeightFormat::plain ? PlainModules::everywhere : kept_of(modules);
    // A format without a family for dense products is an error only if such a product occurs.
    if (format == WeightFormat::int4_experts && kept == PlainModules::nowhere)
      fail(ErrorCode::invalid_input,
           "{}: field 'quantization_config' has 4-bit weights with 16-bit activations, which only tables of experts "
           "support, remove it for the shapes of the model in its own type: {}",
           shown(model_.file, 500), product.name);
    if (kept != PlainModules::everywhere && !experts_only) add_gemm(product, gemm_family(format));
    if (kept != PlainModules::nowhere || experts_only) add_gemm(product, "gemm_a16w16");
  }
  /// Adds a product that no method quantises: the router, the head.
  void add_plain(const Product& product) { add_gemm(product, "gemm_a16w16"); }
  void add_head(const Product& product) { add_gemm(product, "gemm_a16w16", options_.sequences); }

  void add_experts(const Experts& experts) {
    const WeightFormat format = model_.quantisation.format;
    const PlainModules kept =
        format == WeightFormat::plain ? PlainModules::everywhere : kept_of({"mlp.experts", "feed_forward.experts"});
    if (kept != PlainModules::everywhere) add_fmoe(experts, format);
    if (kept != PlainModules::nowhere) add_fmoe(experts, WeightFormat::plain);
  }

  ModelShapes take() { return std::move(shapes_); }

 private:
  /// A fused product is quantised only if all of its modules are; engines refuse a mixture.
  PlainModules kept_of(Modules modules) const {
    PlainModules widest = PlainModules::nowhere;
    for (const std::string_view module : modules) widest = std::max(widest, model_.quantisation.kept_of(module));
    return widest;
  }

  void check(const Product& product) const {
    if (product.n >= 1 && product.n <= kMaxExtent && product.k >= 1 && product.k <= kMaxExtent) return;
    fail(ErrorCode::invalid_input, "{}: a product is too large for a table, N and K are at most {}: {} N={} K={}",
         shown(model_.file, 500), kMaxExtent, product.name, product.n, product.k);
  }

  void add_gemm(const Product& product, std::string_view op) { add_gemm(product, op, options_.tokens); }

  void add_gemm(const Product& product, std::string_view op, std::span<const int64_t> rows) {
    check(product);
    LayerProduct made{product.name, find_family(op), product.n, product.k, {}};
    for (const int64_t m : rows) {
      std::vector<std::pair<std::string, std::string>> attributes = {
          {"m", std::to_string(m)}, {"n", std::to_string(product.n)}, {"k", std::to_string(product.k)}};
      if (op == "gemm_a16w16") {
        attributes.emplace_back("dtype", name(dtype_));
        attributes.emplace_back("outdtype", name(options_.outdtype.value_or(dtype_)));
        attributes.emplace_back("bias", product.bias ? "1" : "0");
      } else if (op == "gemm_a8w8") {
        const bool whole = model_.quantisation.format == WeightFormat::int8_channels;
        attributes.emplace_back("q_dtype_w", name(whole ? DType::int8 : DType::e4m3fn));
      }
      made.problems.emplace_back(std::string(op), std::move(attributes));
    }
    shapes_.products.push_back(std::move(made));
  }

  void add_fmoe(const Experts& experts, WeightFormat format) {
    const ExpertTypes types = expert_types(format, dtype_);
    const int64_t inter = share(experts.intermediate, experts.intermediate_field);
    LayerProduct made{"experts", find_family("fmoe"), inter, model_.hidden, {}};
    for (const int64_t token : options_.tokens) {
      made.problems.emplace_back(
          "fmoe", std::vector<std::pair<std::string, std::string>>{{"token", std::to_string(token)},
                                                                   {"model_dim", std::to_string(model_.hidden)},
                                                                   {"inter_dim", std::to_string(inter)},
                                                                   {"expert", std::to_string(experts.num)},
                                                                   {"topk", std::to_string(experts.per_token)},
                                                                   {"act_type", std::string(experts.activation)},
                                                                   {"dtype", std::string(name(dtype_))},
                                                                   {"q_dtype_a", types.activations},
                                                                   {"q_dtype_w", types.weights},
                                                                   {"q_type", types.scales},
                                                                   {"use_g1u1", "1"},
                                                                   {"doweight_stage1", "0"}});
    }
    shapes_.products.push_back(std::move(made));
  }

  const ModelConfig& model_;
  const ModelShapesOptions& options_;
  DType dtype_;
  ModelShapes shapes_;
};

void add_attention(const ModelConfig& model, const ModelShapesOptions& options, Shaping& shaping) {
  const int64_t heads = shaping.share(model.heads, "num_attention_heads");
  // With fewer heads of keys and values than devices, each device has a copy of one.
  const int64_t kv_heads = options.tp > model.kv_heads && options.tp % model.kv_heads == 0
                               ? 1
                               : shaping.share(model.kv_heads, "num_key_value_heads");
  const int64_t query_heads = heads * (model.gated_attention ? 2 : 1);
  shaping.add({"qkv", (query_heads + 2 * kv_heads) * model.head_dim, model.hidden, model.qkv_bias},
              {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.qkv_proj"});
  shaping.add({"o_proj", model.hidden, heads * model.head_dim, model.o_bias}, {"self_attn.o_proj"});
}

/// All devices have the same narrow projections; the wide ones are divided by heads.
void add_latent_attention(const ModelConfig& model, Shaping& shaping) {
  const LatentAttention& latent = *model.latent;
  const int64_t heads = shaping.share(model.heads, "num_attention_heads");
  const int64_t qk_dim = latent.qk_nope_head_dim + latent.qk_rope_head_dim;
  const int64_t kv_a = latent.kv_lora_rank + latent.qk_rope_head_dim;
  if (latent.q_lora_rank) {
    const int64_t q_a = *latent.q_lora_rank;
    // Engines compute both in one product or separately, and the shipped tables have rows of either.
    shaping.add({"qkv_a", q_a + kv_a, model.hidden, model.qkv_bias},
                {"self_attn.q_a_proj", "self_attn.kv_a_proj_with_mqa"});
    shaping.add({"q_a", q_a, model.hidden, model.qkv_bias}, {"self_attn.q_a_proj"});
    shaping.add({"q_b", heads * qk_dim, q_a}, {"self_attn.q_b_proj"});
  } else {
    shaping.add({"q", heads * qk_dim, model.hidden}, {"self_attn.q_proj"});
  }
  shaping.add({"kv_a", kv_a, model.hidden, model.qkv_bias}, {"self_attn.kv_a_proj_with_mqa"});
  shaping.add({"kv_b", heads * (latent.qk_nope_head_dim + latent.v_head_dim), latent.kv_lora_rank},
              {"self_attn.kv_b_proj"});
  if (latent.index_heads > 0 && latent.q_lora_rank) {
    shaping.add({"index_q", latent.index_heads * latent.index_head_dim, *latent.q_lora_rank},
                {"self_attn.indexer.wq_b"});
    shaping.add({"index_k", latent.index_head_dim, model.hidden}, {"self_attn.indexer.wk"});
    shaping.add_plain({"index_weights", latent.index_heads, model.hidden});
  }
  shaping.add({"o_proj", model.hidden, heads * latent.v_head_dim, model.o_bias}, {"self_attn.o_proj"});
}

void add_layers(const ModelConfig& model, Shaping& shaping) {
  if (model.dense_intermediate) {
    const int64_t inter = shaping.share(*model.dense_intermediate, model.dense_field);
    shaping.add({"gate_up", 2 * inter, model.hidden, model.mlp_bias},
                {"mlp.gate_proj", "mlp.up_proj", "feed_forward.gate_proj", "feed_forward.up_proj"});
    shaping.add({"down", model.hidden, inter, model.mlp_bias}, {"mlp.down_proj", "feed_forward.down_proj"});
  }
  if (!model.experts) return;
  const Experts& experts = *model.experts;
  // Not divided among devices, and in the model's own type (DeepSeek-V3's tables have 256×7168 as bf16).
  shaping.add_plain({"router", experts.num, model.hidden, experts.router_bias});
  shaping.add_experts(experts);
  if (experts.shared_intermediate == 0) return;
  const int64_t inter = shaping.share(experts.shared_intermediate, experts.shared_field);
  shaping.add(
      {"shared_gate_up", 2 * inter, model.hidden},
      {"mlp.shared_experts.gate_proj", "mlp.shared_experts.up_proj", "mlp.shared_expert.gate_proj",
       "mlp.shared_expert.up_proj", "feed_forward.shared_expert.gate_proj", "feed_forward.shared_expert.up_proj"});
  shaping.add({"shared_down", model.hidden, inter},
              {"mlp.shared_experts.down_proj", "mlp.shared_expert.down_proj", "feed_forward.shared_expert.down_proj"});
}

}  // namespace

ModelShapes model_shapes(const ModelConfig& model, const ModelShapesOptions& options) {
  Shaping shaping(model, options);
  if (model.latent)
    add_latent_attention(model, shaping);
  else
    add_attention(model, options, shaping);
  add_layers(model, shaping);
  const int64_t padded = (model.vocab + kVocabularyPadding - 1) / kVocabularyPadding * kVocabularyPadding;
  shaping.add_head({"lm_head", shaping.share(padded, "vocab_size"), model.hidden});
  return shaping.take();
}

std::vector<const FamilySpec*> families_of(const ModelShapes& shapes) {
  std::vector<const FamilySpec*> all;
  for (const LayerProduct& product : shapes.products) {
    if (std::find(all.begin(), all.end(), product.family) == all.end()) all.push_back(product.family);
  }
  return all;
}

std::vector<Problem> problems_of(const ModelShapes& shapes, const FamilySpec& family) {
  std::vector<Problem> all;
  std::set<std::string> seen;
  for (const LayerProduct& product : shapes.products) {
    if (product.family != &family) continue;
    for (const Problem& problem : product.problems) {
      if (seen.insert(problem.key()).second) all.push_back(problem);
    }
  }
  return all;
}

}  // namespace attune
