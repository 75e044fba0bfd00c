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

/// For its life one copy of the operands that are timed holds other values, at the same addresses and in every layout
/// of the weights: a candidate that keeps what it once read there, such as converted weights, is found out.
class OtherValues {
 public:
  /// `inputs`: the values of each operand before the output. `layouts`: packed weights that candidates read. All must
  /// outlive it. Throws Error{device} without memory, and what packing throws.
  OtherValues(Device& device, std::span<const TensorSpec> specs, Rotation& rotation, uint32_t copy,
              std::span<const GuardedBuffer> inputs, std::vector<std::shared_ptr<PackedWeights>> layouts);
  /// Puts the former values back, unless put_back() has.
  ~OtherValues();
  OtherValues(const OtherValues&) = delete;
  OtherValues& operator=(const OtherValues&) = delete;
  /// Throws what packing throws.
  void put_back();

 private:
  void pack();

  Rotation& rotation_;
  uint32_t copy_;
  std::vector<std::shared_ptr<PackedWeights>> layouts_;
  std::vector<OwnBuffer> saved_;  ///< Of the operands that no other copy has.
  std::vector<Buffer> former_;    ///< By operand.
  bool is_back_ = false;
};

}  // namespace attune
