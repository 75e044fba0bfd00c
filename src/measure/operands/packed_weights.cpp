// SPDX-License-Identifier: MIT
#include "measure/operands/packed_weights.h"

#include <algorithm>

#include "base/error.h"
#include "base/pages.h"

namespace attune {
namespace {

constexpr uint32_t kGuardElementBytes = 8;

uint32_t num_copies(const WeightPacking& packing, const RotationSize& rotation) {
  const uint64_t fitting = PackedWeights::kMaxBytes / std::max<uint64_t>(packing.bytes, 1);
  return static_cast<uint32_t>(std::min<uint64_t>(rotation.copies, std::max<uint64_t>(2, fitting)));
}

}  // namespace

double packed_weights_bytes(const WeightPacking& packing, const RotationSize& rotation) {
  return static_cast<double>(packing.bytes) * (num_copies(packing, rotation) + 2);
}

PackedWeights::PackedWeights(Device& device, std::span<const TensorSpec> specs, const Rotation& rotation,
                             WeightPacking packing)
    : device_(device),
      memory_(device.memory()),
      packing_(std::move(packing)),
      num_operands_(specs.size()),
      alignment_(timed_alignment(specs[packing_.parts.front().operand], device)),
      specs_(specs.begin(), specs.end()) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < num_copies(packing_, rotation.size()); ++i)
    bytes = timed_position(bytes, alignment_) + packing_.bytes;
  block_ = OwnBuffer(memory_, in_whole_pages(bytes), std::max(2 * alignment_, static_cast<uint32_t>(page_bytes())));
  pack_copies(rotation);
  protection_.emplace(memory_, block_.area(), "weights");
}

void PackedWeights::list(std::vector<HashedArea>& areas) const {
  if (protection_->is_certain()) return;
  protection_->list(areas);
  for (const auto& checked : checked_) {
    if (checked) areas.push_back({checked->buffer.area(), checked->hash});
  }
}

void PackedWeights::set_checked_writable(Distribution distribution, bool writable) noexcept {
  if (auto& checked = checked_[static_cast<size_t>(distribution)]) checked->buffer.set_writable(writable);
}

std::vector<Buffer> PackedWeights::plain_parts(std::span<void* const> operands) const {
  std::vector<Buffer> plain;
  for (const WeightPacking::Part& part : packing_.parts)
    plain.push_back({operands[part.operand], specs_[part.operand].bytes()});
  return plain;
}

void PackedWeights::pack_copies(const Rotation& rotation) {
  const std::vector<Buffer> plain = plain_parts(rotation.copy(0));
  uint64_t cursor = 0;
  for (uint32_t i = 0; i < num_copies(packing_, rotation.size()); ++i) {
    cursor = timed_position(cursor, alignment_);
    const Buffer to = block_.area().part(cursor, packing_.bytes);
    if (i == 0 || packing_.opaque)
      packing_.pack(plain, to);
    else
      memory_.copy(to.data, packed_.front(), to.bytes);
    packed_.push_back(to.data);
    cursor += packing_.bytes;
  }
  for (uint32_t i = 0; i < rotation.size().copies; ++i) {
    const auto operands = rotation.copy(i);
    pointers_.insert(pointers_.end(), operands.begin(), operands.end());
    place(packed_[i % packed_.size()], std::span(pointers_).last(num_operands_));
  }
}

void PackedWeights::pack_copy(uint32_t index, const Rotation& rotation) {
  const Buffer to{packed_[index % packed_.size()], packing_.bytes};
  const WriteProtection::Lift lift(*protection_, to);
  packing_.pack(plain_parts(rotation.copy(index)), to);
}

/// Sets the pointers of the packed operands to their places in a block.
void PackedWeights::place(void* block, std::span<void*> operands) const noexcept {
  for (const WeightPacking::Part& part : packing_.parts)
    operands[part.operand] = Buffer{block, packing_.bytes}.part(part.offset, 0).data;
}

void PackedWeights::prepare_check(ReferenceCache& references) {
  for (const Distribution distribution : {Distribution::normal, Distribution::integers}) {
    auto& slot = checked_[static_cast<size_t>(distribution)];
    if (slot) continue;
    auto made = std::make_unique<CheckedCopy>(
        CheckedCopy{GuardedBuffer(device_, packing_.bytes, alignment_, kGuardElementBytes), Hash128{}});
    std::vector<Buffer> plain;
    for (const WeightPacking::Part& part : packing_.parts)
      plain.push_back(references.get(distribution).inputs[part.operand].area());
    packing_.pack(plain, made->buffer.area());
    made->hash = memory_.hash(made->buffer.area());
    made->buffer.set_writable(false);
    slot = std::move(made);
  }
}

void PackedWeights::use_checked(Distribution distribution, std::span<void*> operands) const noexcept {
  place(checked(distribution).data(), operands);
}

const GuardedBuffer& PackedWeights::checked(Distribution distribution) const noexcept {
  return checked_[static_cast<size_t>(distribution)]->buffer;
}

std::string PackedWeights::corruption(Distribution distribution, std::span<const PatternScan> guards,
                                      const Hash128& hash) const {
  const CheckedCopy& checked = *checked_[static_cast<size_t>(distribution)];
  if (const auto where = checked.buffer.broken_guard(guards))
    return fmt::format("wrote outside the packed weights ({}): {}", packing_.layout.name, *where);
  if (hash != checked.hash) return fmt::format("changed the packed weights ({})", packing_.layout.name);
  return {};
}

void PackedWeights::repack(Distribution distribution, ReferenceCache& references) {
  checked_[static_cast<size_t>(distribution)].reset();
  prepare_check(references);
}

}  // namespace attune
