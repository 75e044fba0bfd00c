// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "attune/export.h"

namespace attune {

/// One copy, in the layout that most rows of the weights' shape name, or one for each layout that any of them names.
enum class Packing : uint8_t { one_layout, per_shape };

struct PackOptions {
  Packing packing = Packing::one_layout;
  uint64_t max_bytes = 0;  ///< Of all copies; those that do not fit are left out. 0: no limit.
};

/// The weights of one layer, packed ahead for every M: copies of their own, in layouts that kernels of this process
/// read. Made by Dispatcher::pack_weights(), for that dispatcher, which must outlive them. Immutable: any thread may
/// use them.
class ATTUNE_API Weights {
 public:
  Weights(Weights&& other) noexcept;  ///< `other` holds nothing then, and may only be destroyed or assigned to.
  Weights& operator=(Weights&& other) noexcept;
  ~Weights();

  /// Of the copies: `plain`, `host.k16.v1`, a library's own.
  std::span<const std::string> layouts() const noexcept;
  uint64_t bytes() const noexcept;  ///< Of all copies.

 private:
  friend class Dispatcher;
  friend class WeightsPacker;
  struct State;
  explicit Weights(std::unique_ptr<const State> state);
  std::unique_ptr<const State> state_;
};

}  // namespace attune
