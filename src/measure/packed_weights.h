// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attune/tensor.h"
#include "measure/guarded_buffer.h"
#include "measure/reference_cache.h"
#include "measure/rotation.h"
#include "solver/weight_packing.h"

namespace attune {

/// Memory that the weights of one layout take beside a rotation, in bytes: copies and what the check uses.
double packed_weights_bytes(const WeightPacking& packing, const RotationSize& rotation);

/// The weights of a problem in one layout: copies that take the place of operand `b` in a rotation, and one between
/// guard bands for each distribution of the check. Aligned as the plain operand and no better.
class PackedWeights {
 public:
  /// Allocates and packs the copies. As many as the rotation has, unless that is more than kMaxBytes. `rotation` must
  /// outlive it. Throws Error{device} without memory and what packing throws.
  PackedWeights(Device& device, std::span<const TensorSpec> specs, const Rotation& rotation, WeightPacking packing);
  ~PackedWeights();
  PackedWeights(const PackedWeights&) = delete;
  PackedWeights& operator=(const PackedWeights&) = delete;

  static constexpr uint64_t kMaxBytes = 2 * kRotationBytes;

  const Layout& layout() const noexcept { return packing_.layout; }
  /// Operands of a copy of the rotation, `b` in this layout.
  std::span<void* const> copy(uint32_t index) const noexcept {
    return std::span(pointers_).subspan(index * num_operands_, num_operands_);
  }

  /// Allocates and packs what the check uses, if that was not done yet. Throws as the constructor.
  void prepare_check(ReferenceCache& references);
  /// The weights of a distribution between guard bands; after prepare_check().
  void* checked(Distribution distribution) const noexcept;
  /// As ReferenceCache::begin_run() and end_run(), of the weights between guard bands. No copy can be written to.
  void begin_run(Distribution distribution) noexcept { set_checked_writable(distribution, true); }
  void end_run(Distribution distribution) noexcept { set_checked_writable(distribution, false); }
  /// What a candidate did to them: a clause such as `changed …`; empty for nothing.
  std::string spoilt(Distribution distribution) const;
  /// Packs them again after a candidate spoilt them.
  void repack(Distribution distribution, ReferenceCache& references);

 private:
  struct CheckedCopy {
    GuardedBuffer buffer;
    Hash128 hash;
  };
  void set_checked_writable(Distribution distribution, bool writable) noexcept;
  void pack_copies(std::span<const TensorSpec> specs, const Rotation& rotation);

  Device& device_;
  WeightPacking packing_;
  size_t operand_, num_operands_;
  uint32_t alignment_;
  Buffer block_;
  std::vector<void*> pointers_;                          ///< The rotation's copies × operands.
  std::array<std::unique_ptr<CheckedCopy>, 2> checked_;  ///< By Distribution.
};

}  // namespace attune
