// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "attune/tensor.h"
#include "device/own_buffer.h"
#include "measure/operands/guarded_buffer.h"
#include "measure/operands/packed_weights.h"
#include "measure/operands/rotation.h"

namespace attune {

/// During its life one copy of the timed operands holds other values, at the same addresses and in every layout of the
/// weights. This exposes a candidate that keeps values it once read there, such as converted weights.
class OtherValues {
 public:
  /// `inputs`: the values of each operand before the output. `layouts`: packed weights that candidates read. All must
  /// outlive it. Throws Error{device} without memory, and any exception of the packing.
  OtherValues(Device& device, std::span<const TensorSpec> specs, Rotation& rotation, uint32_t copy,
              std::span<const GuardedBuffer> inputs, std::vector<std::shared_ptr<PackedWeights>> layouts);
  /// Restores the values, unless put_back() has done it.
  ~OtherValues();
  OtherValues(const OtherValues&) = delete;
  OtherValues& operator=(const OtherValues&) = delete;
  /// Restores the values. Throws any exception of the packing.
  void put_back();

 private:
  void pack();

  Rotation& rotation_;
  uint32_t copy_;
  std::vector<std::shared_ptr<PackedWeights>> layouts_;
  std::vector<OwnBuffer> saved_;  ///< Operands that no other copy has.
  std::vector<Buffer> former_;    ///< Where the original values are, by operand.
  bool is_back_ = false;
};

}  // namespace attune
