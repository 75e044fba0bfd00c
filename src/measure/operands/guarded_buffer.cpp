// SPDX-License-Identifier: MIT
#include "measure/operands/guarded_buffer.h"

#include <algorithm>

#include "base/error.h"
#include "base/pages.h"

namespace attune {
namespace {

constexpr uint64_t kMinGuardBytes = 1024;
uint64_t round_up(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }

}  // namespace

GuardedBuffer::GuardedBuffer(Device& device, uint64_t bytes, uint32_t alignment, uint32_t element_bytes)
    : memory_(&device.memory()), guard_bytes_(std::max<uint64_t>(kMinGuardBytes, kGuardElements * element_bytes)) {
  const uint64_t step = uint64_t{2} * alignment;
  const uint64_t before = round_up(guard_bytes_, step) + alignment;
  // Whole pages, because protection works by page.
  block_ = OwnBuffer(*memory_, in_whole_pages(before + bytes + guard_bytes_),
                     static_cast<uint32_t>(std::max<uint64_t>(step, page_bytes())));
  area_ = block_.area().part(before, bytes);
  ATTUNE_CHECK(reinterpret_cast<uintptr_t>(area_.data) % step == alignment, "the device's memory is not aligned to {}",
               step);
  restore_guards();
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

Buffer GuardedBuffer::back() const noexcept { return area_.part(area_.bytes, guard_bytes_); }

std::optional<std::string> GuardedBuffer::broken_guard() const {
  const GuardedBuffer* const buffer = this;
  return broken_guards({&buffer, 1}).front();
}

std::vector<std::optional<std::string>> GuardedBuffer::broken_guards(std::span<const GuardedBuffer* const> buffers) {
  if (buffers.empty()) return {};
  std::vector<Buffer> guards;
  for (const GuardedBuffer* buffer : buffers) buffer->list_guards(guards);
  const auto scans = buffers.front()->memory_->scan_all(guards, kNanBytes);
  std::vector<std::optional<std::string>> places;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const auto after = scans[2 * i].first_other, before = scans[2 * i + 1].first_other;
    std::optional<std::string>& place = places.emplace_back();
    if (before) place = fmt::format("{} bytes before its start", buffers[i]->front().bytes - *before);
    if (after) place = fmt::format("{} bytes after its end", *after);
  }
  return places;
}

void GuardedBuffer::restore_guards() {
  std::vector<Buffer> guards;
  list_guards(guards);
  memory_->fill_all(guards, kNanBytes);
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
    case DType::e2m1:  // Without a NaN: numbers of random sign.
      return {{0xa5, 1}, {0xa5, 1}};
    case DType::e4m3fnuz:
    case DType::e5m2fnuz:
      return {{0x80, 1}, {0x80, 1}};
    default:
      return {{0xff, 1}, {0xff, 1}};  // NaN of the other eight-bit floats
  }
}

}  // namespace attune
