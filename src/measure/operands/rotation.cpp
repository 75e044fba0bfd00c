// SPDX-License-Identifier: MIT
#include "measure/operands/rotation.h"

#include <algorithm>

#include "base/error.h"
#include "base/pages.h"
#include "device/device_kind.h"

namespace attune {
namespace {

/// For tiny operands, more copies than this take seconds to fill, and their addresses alone fill a cache.
constexpr uint64_t kMaxCopies = 1 << 14;

}  // namespace

bool rotates(const TensorSpec& spec, CachePolicy policy) noexcept {
  if (policy == CachePolicy::cold) return true;
  return policy == CachePolicy::served && spec.use == Use::weight;
}

uint32_t timed_alignment(const TensorSpec& spec, const Device& device) {
  return std::max(spec.alignment_bytes, device_kind(device.info().kind).allocation_alignment);
}

RotationSize size_rotation(std::span<const TensorSpec> specs, CachePolicy policy, int64_t cache_bytes,
                           uint64_t limit_bytes) {
  RotationSize size{.policy = policy};
  uint64_t input_bytes = 0;  // Size of the inputs that rotate.
  for (const TensorSpec& spec : specs) {
    const bool is_copied = rotates(spec, policy);
    (is_copied ? size.copy_bytes : size.shared_bytes) += spec.bytes();
    if (is_copied && spec.use != Use::output) input_bytes += spec.bytes();
  }
  if (policy == CachePolicy::warm) return size;
  const uint64_t enough =
      2 * static_cast<uint64_t>(std::max<int64_t>(cache_bytes, 0)) / std::max<uint64_t>(input_bytes, 1) + 1;
  const uint64_t fitting =
      (limit_bytes - std::min(limit_bytes, size.shared_bytes)) / std::max<uint64_t>(size.copy_bytes, 1);
  size.copies = static_cast<uint32_t>(std::max<uint64_t>(2, std::min({enough, fitting, kMaxCopies})));
  return size;
}

CopyPicker::CopyPicker(uint32_t copies, uint64_t seed) : random_(seed) {
  ATTUNE_CHECK(copies > 0, "a rotation has at least one copy");
  std::vector<uint32_t> order(copies);
  for (uint32_t i = 0; i < copies; ++i) order[i] = i;
  random_.shuffle(order);
  const auto half = order.begin() + copies / 2;
  resting_.assign(order.begin(), half);
  ready_.assign(half, order.end());
}

uint32_t CopyPicker::next() noexcept {
  uint32_t& drawn = ready_[random_.below(ready_.size())];
  const uint32_t copy = drawn;
  if (!resting_.empty()) {
    // The copy that has rested longest takes its place.
    drawn = resting_[oldest_];
    resting_[oldest_] = copy;
    oldest_ = (oldest_ + 1) % resting_.size();
  }
  return copy;
}

Rotation::Rotation(Device& device, std::span<const TensorSpec> specs, RotationSize size,
                   std::span<const Buffer> operands, uint64_t seed)
    : memory_(device.memory()), size_(size), num_operands_(specs.size()), picker_(size.copies, seed) {
  ATTUNE_CHECK(operands.size() == specs.size(), "{} operands for {} specs", operands.size(), specs.size());
  uint64_t input_bytes = 0, output_bytes = 0;
  auto alignment = static_cast<uint32_t>(page_bytes());
  for (const TensorSpec& spec : specs) alignment = std::max(alignment, 2 * timed_alignment(spec, device));
  // Adds a tensor at the end of a block; returns where it begins.
  const auto extend = [&](uint64_t& end, const TensorSpec& spec) {
    const uint64_t begin = timed_position(end, timed_alignment(spec, device));
    end = begin + spec.bytes();
    return begin;
  };
  for (uint32_t i = 0; i < size.copies; ++i) {
    for (const TensorSpec& spec : specs) {
      if (i == 0 || rotates(spec, size.policy)) extend(spec.use == Use::output ? output_bytes : input_bytes, spec);
    }
  }
  inputs_ = OwnBuffer(memory_, in_whole_pages(input_bytes), alignment);
  outputs_ = OwnBuffer(memory_, in_whole_pages(output_bytes), alignment);
  uint64_t input_end = 0, output_end = 0;
  pointers_.reserve(size.copies * num_operands_);
  for (uint32_t i = 0; i < size.copies; ++i) {
    for (size_t j = 0; j < num_operands_; ++j) {
      if (i > 0 && !rotates(specs[j], size.policy)) {
        pointers_.push_back(pointers_[j]);
        continue;
      }
      const bool is_output = specs[j].use == Use::output;
      const uint64_t begin = extend(is_output ? output_end : input_end, specs[j]);
      const Buffer to = (is_output ? outputs_ : inputs_).area().part(begin, specs[j].bytes());
      memory_.copy(to.data, operands[j].data, to.bytes);
      pointers_.push_back(to.data);
    }
  }
  protection_.emplace(memory_, inputs_.area(), "operands");
}

void Rotation::write(uint32_t index, std::span<const Buffer> from) {
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i].bytes == 0) continue;
    const Buffer to{copy(index)[i], from[i].bytes};
    const WriteProtection::Lift lift(*protection_, to);
    memory_.copy(to.data, from[i].data, to.bytes);
  }
}

}  // namespace attune
