// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attune {

class JsonFields;

/// Storage format of the weights of the layers' products.
enum class WeightFormat : uint8_t {
  plain,          ///< the model's own type
  int8_channels,  ///< a8w8, one scale per output channel
  fp8_tensor,     ///< a8w8, one scale
  fp8_channels,   ///< a8w8, one scale per output channel
  fp8_blocks,     ///< a8w8, scales 1×128 and 128×128
  mxfp4,          ///< a4w4, one scale per 32 values
  mxfp4_experts,  ///< 4-bit weights of the experts with 16-bit activations; all other products are plain
  int4_experts,   ///< like mxfp4_experts, with integer weights
};

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
