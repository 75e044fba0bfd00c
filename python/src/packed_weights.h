// SPDX-License-Identifier: MIT
#pragma once
#include <attune/dispatcher.h>
#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <vector>
#include "attune/gemm.h"

namespace attune::python {

/// Packed weights of the process's own dispatcher, and the key of the calls that they serve. Immutable.
class PackedWeights {
 public:
  PackedWeights(const GemmKey& key, Weights weights) : key_(key), weights_(std::move(weights)) {}

  const GemmKey& key() const noexcept { return key_; }  ///< m is 0.
  const Weights& weights() const noexcept { return weights_; }
  std::vector<std::string> layouts() const { return {weights_.layouts().begin(), weights_.layouts().end()}; }
  uint64_t bytes() const noexcept { return weights_.bytes(); }
  nanobind::tuple shape() const { return nanobind::make_tuple(key_.n, key_.k); }

  /// Returns the object behind a Python object; null if it is another type. Takes a few nanoseconds.
  static const PackedWeights* of(nanobind::handle object);

 private:
  GemmKey key_;
  Weights weights_;
};

/// Packs a matrix (n, k). Releases the GIL while it packs.
PackedWeights pack_weights(nanobind::handle w, bool bias, nanobind::handle out_dtype, bool per_shape,
                           uint64_t max_bytes);

}  // namespace attune::python
