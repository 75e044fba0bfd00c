// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attune {

class ConfigFields;

/// How the weights of the layers' products are stored.
enum class WeightFormat : uint8_t {
  plain,          ///< In the model's own type.
  int8_channels,  ///< a8w8, a scale for each output channel
  fp8_tensor,     ///< a8w8, one scale
  fp8_channels,   ///< a8w8, a scale for each output channel
  fp8_blocks,     ///< a8w8, scales 1×128 and 128×128
  mxfp4,          ///< a4w4, a scale for each 32
  mxfp4_experts,  ///< 4-bit weights of the experts beside 16-bit activations; all else is plain
  int4_experts,   ///< The same with whole numbers.
};

/// Which layers hold a product in the model's own type although the model is quantised.
enum class PlainModules : uint8_t { nowhere, in_some_layers, everywhere };

/// `quantization_config` of a model.
struct Quantisation {
  WeightFormat format = WeightFormat::plain;
  std::vector<std::string> kept;  ///< Modules that are not quantised, as the file names them.

  /// Where a module is kept. `module` is its name within a layer: `self_attn.o_proj`. Names, names with `*`, and
  /// patterns (`re:.*self_attn.*`) of no more than `.*`, `\d+`, `^`, `$`, `\.` and one `(a|b)` are understood.
  PlainModules kept_of(std::string_view module) const;
  /// Whether an entry of `kept` is one that kept_of() can match; others match nothing.
  static bool understood(std::string_view entry);
};

/// Reads the object. Throws invalid_input for a method, or a mixture, that no family of tables is for.
Quantisation read_quantisation(const ConfigFields& fields);

}  // namespace attune
