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

/// The first family that computes a layer; null: none does.
const FamilySpec* find_family_of(const ModelLayer& layer) {
  const auto all = families();
  const auto found = std::ranges::find_if(
      all, [&](const FamilySpec& family) { return family.of_layer != nullptr && family.of_layer(layer); });
  return found == all.end() ? nullptr : &*found;
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
    WeightFormat format = model_.quantisation.format;
    if (format == WeightFormat::mxfp4_experts) format = WeightFormat::plain;
    const PlainModules kept = format == WeightFormat::plain ? PlainModules::everywhere : kept_of(modules);
    // A format without a family for dense products is an error only if such a product occurs.
    if (kept != PlainModules::everywhere && !add_layer(product, format) && kept == PlainModules::nowhere)
      fail(ErrorCode::invalid_input,
           "{}: field 'quantization_config' has 4-bit weights with 16-bit activations, which only tables of experts "
           "support, remove it for the shapes of the model in its own type: {}",
           shown(model_.file, 500), product.name);
    if (kept != PlainModules::nowhere) add_plain(product);
  }
  /// Adds a product that no method quantises: the router, the head.
  void add_plain(const Product& product) { add_layer(product, WeightFormat::plain); }
  void add_head(const Product& product) { add_layer(product, WeightFormat::plain, options_.sequences); }

  void add_experts(const Experts& experts) {
    const WeightFormat format = model_.quantisation.format;
    const PlainModules kept =
        format == WeightFormat::plain ? PlainModules::everywhere : kept_of({"mlp.experts", "feed_forward.experts"});
    const LayerExperts own{experts.num, experts.per_token, experts.activation};
    const Product product{"experts", share(experts.intermediate, experts.intermediate_field), model_.hidden};
    if (kept != PlainModules::everywhere) add_layer(product, format, options_.tokens, &own);
    if (kept != PlainModules::nowhere) add_layer(product, WeightFormat::plain, options_.tokens, &own);
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

  bool add_layer(const Product& product, WeightFormat format) { return add_layer(product, format, options_.tokens); }

  /// Returns false, and adds nothing, if no family computes the product in this format.
  bool add_layer(const Product& product, WeightFormat format, std::span<const int64_t> rows,
                 const LayerExperts* experts = nullptr) {
    check(product);
    ModelLayer layer{.format = format,
                     .dtype = dtype_,
                     .out_dtype = options_.outdtype.value_or(dtype_),
                     .n = product.n,
                     .k = product.k,
                     .bias = product.bias,
                     .experts = experts};
    const FamilySpec* const family = find_family_of(layer);
    if (family == nullptr) return false;
    LayerProduct made{product.name, family, product.n, product.k, {}};
    for (const int64_t m : rows) {
      layer.m = m;
      made.problems.push_back(family->of_layer(layer).value());
    }
    shapes_.products.push_back(std::move(made));
    return true;
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
