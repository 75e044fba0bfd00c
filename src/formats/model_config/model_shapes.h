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

/// Engines pad the vocabulary to a multiple of this before they divide it (vLLM, vocab_parallel_embedding.py:
/// DEFAULT_VOCAB_PADDING_SIZE).
inline constexpr int64_t kVocabularyPadding = 64;

/// For what a model is run.
struct ModelShapesOptions {
  int64_t tp = 1;                        ///< Devices that share each product.
  std::vector<int64_t> tokens;           ///< M of all products but the head's.
  std::vector<int64_t> sequences = {1};  ///< M of the head, which sees the last token of each sequence.
  std::optional<DType> dtype, outdtype;  ///< Win over the model's; without any dtype it is bf16.
};

/// A product that one of tp devices computes in a layer, for each M.
struct LayerProduct {
  std::string name;  ///< `qkv`, `o_proj`, `gate_up` …
  const FamilySpec* family = nullptr;
  int64_t n = 0, k = 0;  ///< x[M,k]·w[n,k]ᵀ. Of the experts: n is the intermediate size of one, k the hidden size.
  std::vector<Problem> problems;  ///< Not normalised.
};

struct ModelShapes {
  std::vector<LayerProduct>
      products;  ///< In the order of a layer, dense layers before those with experts, the head last.
  std::vector<std::string> notices;
};

/// The products of a model on one of `tp` devices. Throws invalid_input naming the field that tp does not divide, or
/// a product that is larger than a table holds. Formulas: docs/formats/model_config.md.
ModelShapes model_shapes(const ModelConfig& model, const ModelShapesOptions& options);

/// The families of some shapes, each once, in order of appearance.
std::vector<const FamilySpec*> families_of(const ModelShapes& shapes);
/// The problems of a family, each once, in order.
std::vector<Problem> problems_of(const ModelShapes& shapes, const FamilySpec& family);

}  // namespace attune
