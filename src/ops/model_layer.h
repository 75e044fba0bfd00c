// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/dtype.h"
#include "attune/problem.h"

namespace attune {

/// Storage format of the weights of a model's layers.
enum class WeightFormat : uint8_t {
  plain,          ///< the model's own type
  int8_channels,  ///< a8w8, one scale per output channel
  fp8_tensor,     ///< a8w8, one scale
  fp8_channels,   ///< a8w8, one scale per output channel
  fp8_blocks,     ///< a8w8, scales 1×128 and 128×128
  mxfp4,          ///< a4w4, one scale per 32 values
  mxfp4_experts,  ///< experts: 4-bit weights, 16-bit activations; others: plain
  int4_experts,   ///< like mxfp4_experts, with integer weights
};

/// The experts of a layer. One op computes all of them.
struct LayerExperts {
  int64_t num = 0, per_token = 0;
  std::string_view activation;  ///< `ActivationType.Silu`, as spelled in tables of fmoe.
};

/// A product that one device computes in a layer of a model: x[m,k]·w[n,k]ᵀ (+ bias). The op that computes it makes the
/// problem (FamilySpec::of_layer).
struct ModelLayer {
  WeightFormat format = WeightFormat::plain;
  DType dtype = DType::bf16, out_dtype = DType::bf16;  ///< The model's own types.
  int64_t m = 1, n = 0, k = 0;
  bool bias = false;
  const LayerExperts* experts = nullptr;  ///< Null: one product. Else n is the intermediate size of one expert.
};

/// Returns the problem of a product: m, n, k and then `more`. Not normalised.
inline Problem product_of_layer(std::string_view op, const ModelLayer& layer,
                                const std::vector<std::pair<std::string, std::string>>& more = {}) {
  std::vector<std::pair<std::string, std::string>> attributes = {
      {"m", std::to_string(layer.m)}, {"n", std::to_string(layer.n)}, {"k", std::to_string(layer.k)}};
  attributes.insert(attributes.end(), more.begin(), more.end());
  return {std::string(op), std::move(attributes)};
}

}  // namespace attune
