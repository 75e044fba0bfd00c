// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attune/tensor.h"
#include "device/own_buffer.h"
#include "measure/operands/guarded_buffer.h"
#include "measure/operands/reference_cache.h"
#include "measure/operands/rotation.h"
#include "measure/operands/write_protection.h"
#include "solver/weight_packing.h"

namespace attune {

/// Bytes of memory that the weights of one layout add to a rotation: timed copies and copies for the check.
double packed_weights_bytes(const WeightPacking& packing, const RotationSize& rotation);

/// The packed operands of a problem in one layout: copies that replace the plain ones in a rotation, and one copy
/// between guard bands for each distribution of the check. Aligned like the first plain operand, and no better.
class PackedWeights {
 public:
  /// Allocates and packs the copies: as many as the rotation has, unless they exceed kMaxBytes. `rotation` must outlive
  /// it. Throws Error{device} without memory, and any exception of the packing.
  PackedWeights(Device& device, std::span<const TensorSpec> specs, const Rotation& rotation, WeightPacking packing);
  PackedWeights(const PackedWeights&) = delete;
  PackedWeights& operator=(const PackedWeights&) = delete;

  static constexpr uint64_t kMaxBytes = 2 * kRotationBytes;

  const Layout& layout() const noexcept { return packing_.layout; }
  /// Adds the timed copies and the copies of the check, unless they are protected.
  void list(std::vector<HashedArea>& areas) const;
  /// Operands of one copy of the rotation, with the packed ones in this layout.
  std::span<void* const> copy(uint32_t index) const noexcept {
    return std::span(pointers_).subspan(index * num_operands_, num_operands_);
  }

  /// Packs a copy of the rotation again, in its place, from the plain operands that the rotation holds now. Throws any
  /// exception of the packing.
  void pack_copy(uint32_t index, const Rotation& rotation);

  /// Allocates and packs the weights of the check, if that was not done yet. Throws like the constructor.
  void prepare_check(ReferenceCache& references);
  /// Replaces the plain operands by the packed ones of a distribution, between guard bands. Requires: prepare_check()
  /// was called.
  void use_checked(Distribution distribution, std::span<void*> operands) const noexcept;
  /// Like ReferenceCache::begin_run() and end_run(), but for the weights between guard bands. No copy is ever writable.
  void begin_run(Distribution distribution) noexcept { set_checked_writable(distribution, true); }
  void end_run(Distribution distribution) noexcept { set_checked_writable(distribution, false); }
  /// Returns the weights of the check, between their guard bands. Requires: prepare_check() was called.
  const GuardedBuffer& checked(Distribution distribution) const noexcept;
  /// Damage that a candidate did to them, as a clause such as `changed …`; empty if none. `guards`: scans of their
  /// guard bands; `hash`: hash of their bytes.
  std::string corruption(Distribution distribution, std::span<const PatternScan> guards, const Hash128& hash) const;
  /// Packs them again after a candidate damaged them.
  void repack(Distribution distribution, ReferenceCache& references);

 private:
  struct CheckedCopy {
    GuardedBuffer buffer;
    Hash128 hash;
  };
  void set_checked_writable(Distribution distribution, bool writable) noexcept;
  void pack_copies(const Rotation& rotation);
  std::vector<Buffer> plain_parts(std::span<void* const> operands) const;
  void place(void* block, std::span<void*> operands) const noexcept;

  Device& device_;
  DeviceMemory& memory_;
  WeightPacking packing_;
  size_t num_operands_;
  uint32_t alignment_;
  OwnBuffer block_;
  std::vector<TensorSpec> specs_;
  std::vector<void*> packed_;                            ///< The copies of the packed operands.
  std::optional<WriteProtection> protection_;            ///< Protection of the copies, once they are packed.
  std::vector<void*> pointers_;                          ///< The rotation's copies × operands.
  std::array<std::unique_ptr<CheckedCopy>, 2> checked_;  ///< By Distribution.
};

}  // namespace attune
