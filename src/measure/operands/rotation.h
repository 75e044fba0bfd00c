// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attune/tensor.h"
#include "base/random.h"
#include "core/record.h"
#include "device/device.h"
#include "device/own_buffer.h"
#include "measure/operands/write_protection.h"

namespace attune {

/// Number of copies of a problem's operands. They are used in turn, so that none is found in a cache.
struct RotationSize {
  uint32_t copies = 1;
  uint64_t copy_bytes = 0;    ///< Size of one set of the operands that rotate.
  uint64_t shared_bytes = 0;  ///< Size of the operands that all copies share.
  CachePolicy policy = CachePolicy::cold;
  uint64_t bytes() const noexcept { return copies * copy_bytes + shared_bytes; }
};
/// Whether each copy of a rotation has its own operand. cold: all do; served: only weights do; warm: none does.
bool rotates(const TensorSpec& spec, CachePolicy policy) noexcept;
/// Default bound of a rotation: a virtual machine may report 480 MiB of cache.
inline constexpr uint64_t kRotationBytes = 256u << 20;

/// cold, served: enough copies for the rotating inputs to exceed twice the cache, at most `limit_bytes` in all, at
/// least 2. warm: 1.
RotationSize size_rotation(std::span<const TensorSpec> specs, CachePolicy policy, int64_t cache_bytes,
                           uint64_t limit_bytes = kRotationBytes);

/// Draws copies at random. None repeats before half of the others (rounded down) were drawn. O(1).
class CopyPicker {
 public:
  CopyPicker(uint32_t copies, uint64_t seed);
  uint32_t next() noexcept;

 private:
  std::vector<uint32_t> ready_;    ///< May be drawn.
  std::vector<uint32_t> resting_;  ///< A ring; the oldest at `oldest_`.
  size_t oldest_ = 0;
  Random random_;
};

/// Alignment of operands while they are timed on a device: as applications allocate them
/// (DeviceKind::allocation_alignment), which is more than callers promise. Verification gives a candidate only the
/// promised alignment.
uint32_t timed_alignment(const TensorSpec& spec, const Device& device);
/// A position after `end` for a timed operand: a multiple of its alignment, but not of twice that.
constexpr uint64_t timed_position(uint64_t end, uint64_t alignment) noexcept {
  const uint64_t step = 2 * alignment;
  return (end + step - 1) / step * step + alignment;
}

/// The copies themselves, whose operands may be shared: inputs in one block of the device and outputs in another, every
/// operand at timed_alignment() and no better. The inputs are read-only: a candidate that writes to them ends its
/// process, or their hash reveals it.
class Rotation {
 public:
  /// Copies `operands` (memory of the device, in Op::tensors() order) size.copies times. Throws Error{device} without
  /// memory.
  Rotation(Device& device, std::span<const TensorSpec> specs, RotationSize size, std::span<const Buffer> operands,
           uint64_t seed);
  Rotation(const Rotation&) = delete;
  Rotation& operator=(const Rotation&) = delete;

  const RotationSize& size() const noexcept { return size_; }
  /// Adds the inputs, unless they are protected.
  void list(std::vector<HashedArea>& areas) const { protection_->list(areas); }
  /// Operands of the next copy, for Launch::operands. Valid as long as the rotation.
  std::span<void* const> next() noexcept { return copy(next_index()); }
  uint32_t next_index() noexcept { return picker_.next(); }
  std::span<void* const> copy(uint32_t index) const noexcept {
    return std::span(pointers_).subspan(index * num_operands_, num_operands_);
  }
  /// Writes inputs of a copy in place: operand i gets the bytes of from[i], unless that is empty. Restore the original
  /// bytes before the areas of list() are checked.
  void write(uint32_t index, std::span<const Buffer> from);

 private:
  DeviceMemory& memory_;
  RotationSize size_;
  size_t num_operands_;
  OwnBuffer inputs_, outputs_;
  std::optional<WriteProtection> protection_;  ///< Protection of the inputs, once they are filled.
  std::vector<void*> pointers_;                ///< copies × operands
  CopyPicker picker_;
};

}  // namespace attune
