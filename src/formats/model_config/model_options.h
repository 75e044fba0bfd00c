// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>

#include "formats/model_config/model_shapes.h"

namespace attune {

/// Options of `shapes` and `tune` that select a model's shapes.
struct ModelOptions {
  std::string folder;  ///< `--model_dir`; empty: not given.
  int64_t tp = 1;
  std::string nsets = "1,512,1024,2048,3072,4096,8192,16384";  ///< Default of the older tuner.
  std::string sequences = "1";
};

/// Reads the model's config.json. `dtype` and `outdtype`: as typed; empty: the model's. Throws invalid_input.
ModelShapes shapes_of_model(const ModelOptions& options, const std::string& dtype, const std::string& outdtype);

/// Parses a type of gemm_a16w16 typed for `flag`; nothing if it was not given. Throws invalid_input.
std::optional<DType> dtype_option(const std::string& text, std::string_view flag);

}  // namespace attune
