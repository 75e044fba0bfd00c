// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ops/model_layer.h"

namespace attune {

class JsonFields;

/// Layers in which a product has the model's own type although the model is quantised.
enum class PlainModules : uint8_t { nowhere, in_some_layers, everywhere };

/// The `quantization_config` of a model.
struct Quantisation {
  WeightFormat format = WeightFormat::plain;
  std::vector<std::string> kept;  ///< Modules that are not quantised, as named in the file.

  /// Returns the layers in which a module is not quantised. `module` is its name within a layer: `self_attn.o_proj`.
  /// Names, names with `*`, and patterns (`re:.*self_attn.*`) that use only `.*`, `\d+`, `^`, `$`, `\.` and one `(a|b)`
  /// are understood.
  PlainModules kept_of(std::string_view module) const;
  /// True if kept_of() can match an entry of `kept`; other entries match nothing.
  static bool understood(std::string_view entry);
};

/// Reads the object. Throws invalid_input for a method, or a mixture of methods, for which no family of tables exists.
Quantisation read_quantisation(const JsonFields& fields);

}  // namespace attune
