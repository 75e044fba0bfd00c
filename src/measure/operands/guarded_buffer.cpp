// SPDX-License-Identifier: MIT
#include "measure/operands/guarded_buffer.h"

#include <algorithm>

#include "base/error.h"
#include "base/pages.h"

namespace attune {
namespace {

constexpr uint64_t kMinGuardBytes = 1024;
/// Spare memory that a buffer may always have. Filling and scanning it takes at most 20 µs.
constexpr uint64_t kSpareBytes = 256u << 10;

uint64_t round_up(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }

/// The data start at a multiple of `alignment`, but not at a multiple of this.
uint64_t step_of(uint32_t alignment) { return uint64_t{2} * alignment; }

/// Memory of a new buffer: whole pages, because protection works by page.
uint64_t needed_bytes(uint64_t bytes, uint32_t alignment, uint64_t guard_bytes) {
  return in_whole_pages(round_up(guard_bytes, step_of(alignment)) + alignment + bytes + guard_bytes);
}

}  // namespace

GuardedBuffer::GuardedBuffer(Device& device, uint64_t bytes, uint32_t alignment, uint32_t element_bytes)
    : memory_(&device.memory()), guard_bytes_(std::max<uint64_t>(kMinGuardBytes, kGuardElements * element_bytes)) {
  const uint64_t step = step_of(alignment);
  block_ = OwnBuffer(*memory_, needed_bytes(bytes, alignment, guard_bytes_),
                     static_cast<uint32_t>(std::max<uint64_t>(step, page_bytes())));
  ATTUNE_CHECK(reinterpret_cast<uintptr_t>(block_.data()) % step == 0, "the device's memory is not aligned to {}",
               step);
  place(bytes, alignment);
  restore_guards();
}

/// Places the data as late as the band after them allows. All other memory is a band.
void GuardedBuffer::place(uint64_t bytes, uint32_t alignment) noexcept {
  const uint64_t step = step_of(alignment);
  const uint64_t before = (block_.area().bytes - guard_bytes_ - bytes - alignment) / step * step + alignment;
  area_ = block_.area().part(before, bytes);
}

bool GuardedBuffer::reshape(uint64_t bytes, uint32_t alignment) noexcept {
  const uint64_t needed = needed_bytes(bytes, alignment, guard_bytes_), there = block_.area().bytes;
  const bool fits = there >= needed && there - needed <= std::max(needed, kSpareBytes) &&
                    reinterpret_cast<uintptr_t>(block_.data()) % step_of(alignment) == 0;
  if (fits) place(bytes, alignment);
  return fits;
}

GuardedBuffer::~GuardedBuffer() {
  if (block_.data() != nullptr) set_writable(true);
}

Protection GuardedBuffer::set_writable(bool writable) noexcept {
  return memory_->set_writable(block_.area(), writable);
}

Buffer GuardedBuffer::front() const noexcept {
  const auto before = static_cast<char*>(area_.data) - static_cast<char*>(block_.data());
  return block_.area().part(0, static_cast<uint64_t>(before));
}

Buffer GuardedBuffer::back() const noexcept {
  const uint64_t end = front().bytes + area_.bytes;
  return block_.area().part(end, block_.area().bytes - end);
}

std::optional<std::string> GuardedBuffer::broken_guard() const {
  std::vector<PatternArea> guards;
  list_guards(guards);
  return broken_guard(memory_->inspect(guards, {}).scans);
}

std::optional<std::string> GuardedBuffer::broken_guard(std::span<const PatternScan> guards) const {
  const auto after = guards[0].first_other, before = guards[1].first_other;
  if (after) return fmt::format("{} bytes after its end", *after);
  if (before) return fmt::format("{} bytes before its start", front().bytes - *before);
  return std::nullopt;
}

void GuardedBuffer::list_guards(std::vector<PatternArea>& areas) const {
  areas.insert(areas.end(), {{back(), kNanBytes}, {front(), kNanBytes}});
}

void GuardedBuffer::restore_guards() {
  std::vector<PatternArea> guards;
  list_guards(guards);
  memory_->fill_all(guards);
}

Poison Poison::of(DType dtype) noexcept {
  switch (dtype) {
    case DType::fp64:
      return {{0xfff5a5a5a5a5a5a5, 8}, {0xfffda5a5a5a5a5a5, 8}};
    case DType::fp32:
      return {{0xffa5a5a5, 4}, {0xffe5a5a5, 4}};
    case DType::bf16:
      return {{0xffa5, 2}, {0xffe5, 2}};
    case DType::fp16:
      return {{0xfda5, 2}, {0xffa5, 2}};
    case DType::int32:
      return {{0xa5a5a5a5, 4}, {0xa5a5a5a5, 4}};
    case DType::int8:
    case DType::int4:
    case DType::e2m1:  // Has no NaN: numbers of random sign.
      return {{0xa5, 1}, {0xa5, 1}};
    case DType::e4m3fnuz:
    case DType::e5m2fnuz:
      return {{0x80, 1}, {0x80, 1}};
    default:
      return {{0xff, 1}, {0xff, 1}};  // NaN of the other eight-bit floats
  }
}

}  // namespace attune
