// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "attune/export.h"

namespace attune {

/// How many copies to make: one, in the layout that most rows of the weights' shape name, or one for each layout that
/// any of these rows names.
enum class Packing : uint8_t { one_layout, per_shape };

struct PackOptions {
  /// How many copies are made. Default: one_layout.
  Packing packing = Packing::one_layout;
  /// Maximum size of all copies together, in bytes; copies beyond it are not made. 0: no limit. Default: 0.
  uint64_t max_bytes = 0;
};

/// Packed weights of one layer, for every M: copies in layouts that kernels of this process read.
/// Dispatcher::pack_weights() makes them for that dispatcher, which must outlive them. Immutable: any thread may use
/// them.
class ATTUNE_API Weights {
 public:
  Weights(Weights&& other) noexcept;  ///< `other` is then empty, and may only be destroyed or assigned to.
  Weights& operator=(Weights&& other) noexcept;
  ~Weights();

  /// Layouts of the copies: `plain`, `host.k16.v1`, or a library's own.
  std::span<const std::string> layouts() const noexcept;
  uint64_t bytes() const noexcept;  ///< Total size of all copies.

 private:
  friend class Dispatcher;
  friend class WeightsPacker;
  struct State;
  explicit Weights(std::unique_ptr<const State> state);
  std::unique_ptr<const State> state_;
};

}  // namespace attune
