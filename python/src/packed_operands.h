// SPDX-License-Identifier: MIT
#pragma once
#include <attune/dispatcher.h>
#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace attune::python {

/// Operands of a problem of any op that were packed together by the process's own dispatcher. Immutable.
class PackedOperands {
 public:
  explicit PackedOperands(Weights weights) : weights_(std::move(weights)) {}

  const Weights& weights() const noexcept { return weights_; }
  std::vector<std::string> layouts() const { return {weights_.layouts().begin(), weights_.layouts().end()}; }
  uint64_t bytes() const noexcept { return weights_.bytes(); }

  /// Returns the object behind a Python object; null if it is another type.
  static const PackedOperands* of(nanobind::handle object);

 private:
  Weights weights_;
};

/// Packs the operands that the problem's op marks. `tensors`: arrays in their order, or a dict of them by role.
/// Releases the GIL while it packs.
PackedOperands pack_operands(const std::string& problem, nanobind::handle tensors, bool per_shape, uint64_t max_bytes);

}  // namespace attune::python
