// SPDX-License-Identifier: MIT
#include "measure/operands/guarded_buffer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/pages.h"

namespace attune {
namespace {

constexpr uint64_t kMinGuardBytes = 1024;
// 0xfff5, repeated, is a NaN in fp64, fp32, bf16 and fp16.
constexpr std::array<std::byte, 2> kNanBytes = {std::byte{0xf5}, std::byte{0xff}};

uint64_t round_up(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }

/// Position of the first byte that is not the canary. The pattern follows the address, wherever the band starts.
std::optional<size_t> first_change(std::span<const std::byte> band) {
  for (size_t i = 0; i < band.size(); ++i) {
    if (band[i] != kNanBytes[reinterpret_cast<uintptr_t>(band.data() + i) % 2]) return i;
  }
  return std::nullopt;
}

void fill_band(std::span<std::byte> band) noexcept {
  for (std::byte& byte : band) byte = kNanBytes[reinterpret_cast<uintptr_t>(&byte) % 2];
}

}  // namespace

GuardedBuffer::GuardedBuffer(Device& device, uint64_t bytes, uint32_t alignment, uint32_t element_bytes)
    : device_(&device),
      bytes_(bytes),
      guard_bytes_(std::max<uint64_t>(kMinGuardBytes, kGuardElements * element_bytes)) {
  const uint64_t step = uint64_t{2} * alignment;
  const uint64_t before = round_up(guard_bytes_, step) + alignment;
  // Whole pages, because protection works by page.
  block_ = device.allocate(in_whole_pages(before + bytes + guard_bytes_),
                           static_cast<uint32_t>(std::max<uint64_t>(step, page_bytes())));
  data_ = static_cast<std::byte*>(block_.data) + before;
  ATTUNE_CHECK(reinterpret_cast<uintptr_t>(data_) % step == alignment, "the device's memory is not aligned to {}",
               step);
  restore_guards();
}

GuardedBuffer::GuardedBuffer(GuardedBuffer&& other) noexcept
    : device_(other.device_),
      block_(std::exchange(other.block_, {})),
      data_(other.data_),
      bytes_(other.bytes_),
      guard_bytes_(other.guard_bytes_) {}

GuardedBuffer::~GuardedBuffer() {
  if (block_.data == nullptr) return;
  set_writable(true);
  device_->release(block_);
}

void GuardedBuffer::set_writable(bool writable) noexcept {
  attune::set_writable({static_cast<const std::byte*>(block_.data), block_.bytes}, writable);
}

std::span<std::byte> GuardedBuffer::front() const noexcept {
  auto* start = static_cast<std::byte*>(block_.data);
  return {start, static_cast<size_t>(data_ - start)};
}

std::span<std::byte> GuardedBuffer::back() const noexcept { return {data_ + bytes_, guard_bytes_}; }

std::optional<std::string> GuardedBuffer::broken_guard() const {
  if (const auto at = first_change(back())) return fmt::format("{} bytes after its end", *at);
  if (const auto at = first_change(front())) return fmt::format("{} bytes before its start", front().size() - *at);
  return std::nullopt;
}

void GuardedBuffer::restore_guards() noexcept {
  fill_band(front());
  fill_band(back());
}

Poison Poison::of(DType dtype) noexcept {
  switch (dtype) {
    case DType::fp64:
      return {0xfff5a5a5a5a5a5a5, 0xfffda5a5a5a5a5a5, 8};
    case DType::fp32:
      return {0xffa5a5a5, 0xffe5a5a5, 4};
    case DType::bf16:
      return {0xffa5, 0xffe5, 2};
    case DType::fp16:
      return {0xfda5, 0xffa5, 2};
    case DType::int32:
      return {0xa5a5a5a5, 0xa5a5a5a5, 4};
    case DType::int8:
    case DType::int4:
    case DType::e2m1:  // Without a NaN: numbers of random sign.
      return {0xa5, 0xa5, 1};
    case DType::e4m3fnuz:
    case DType::e5m2fnuz:
      return {0x80, 0x80, 1};
    default:
      return {0xff, 0xff, 1};  // NaN of the other eight-bit floats
  }
}

void fill_poison(DType dtype, std::span<std::byte> out) noexcept {
  const Poison poison = Poison::of(dtype);
  for (size_t i = 0; i + poison.bytes <= out.size(); i += poison.bytes)
    std::memcpy(out.data() + i, &poison.bits, poison.bytes);
}

void fill_nan_bytes(std::span<std::byte> out) noexcept { fill_band(out); }

}  // namespace attune
