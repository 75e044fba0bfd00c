// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attune/problem.h"
#include "formats/model_config/model_config.h"
#include "ops/family.h"

namespace attune {

/// Engines pad the vocabulary to a multiple of this number before they divide it (vLLM, vocab_parallel_embedding.py:
/// DEFAULT_VOCAB_PADDING_SIZE).
inline constexpr int64_t kVocabularyPadding = 64;

/// Conditions under which a model is run.
struct ModelShapesOptions {
  int64_t tp = 1;                        ///< Number of devices that share each product.
  std::vector<int64_t> tokens;           ///< M of all products except the head's.
  std::vector<int64_t> sequences = {1};  ///< M of the head, which is applied to the last token of each sequence.
  std::optional<DType> dtype, outdtype;  ///< Override the model's types; without any dtype it is bf16.
};

/// A product that one of tp devices computes in a layer, for each M.
struct LayerProduct {
  std::string name;  ///< `qkv`, `o_proj`, `gate_up` …
  const FamilySpec* family = nullptr;
  /// x[M,k]·w[n,k]ᵀ. For experts, n is the intermediate size of one expert and k the hidden size.
  int64_t n = 0, k = 0;
  std::vector<Problem> problems;  ///< Not normalised.
};

struct ModelShapes {
  /// In the order of a layer; dense layers precede those with experts, and the head is last.
  std::vector<LayerProduct> products;
  std::vector<std::string> notices;
};

/// Returns the products of a model on one of `tp` devices. Throws invalid_input naming the field that tp does not
/// divide, or a product that is too large for a table. Formulas: docs/formats/model_config.md.
ModelShapes model_shapes(const ModelConfig& model, const ModelShapesOptions& options);

/// Returns the families of some shapes, each once, in order of appearance.
std::vector<const FamilySpec*> families_of(const ModelShapes& shapes);
/// Returns the problems of a family, each once, in order.
std::vector<Problem> problems_of(const ModelShapes& shapes, const FamilySpec& family);

}  // namespace attune
