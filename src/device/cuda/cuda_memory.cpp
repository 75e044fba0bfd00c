// SPDX-License-Identifier: MIT
#include "device/cuda/cuda_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"

namespace attune {
namespace {

constexpr uint32_t kDriverAlignment = 256;  // Of every allocation, by CUDA's documentation.
constexpr uint64_t kReadBytes = 256u << 20;

CUdeviceptr address_of(const void* address) { return reinterpret_cast<CUdeviceptr>(address); }

}  // namespace

CudaMemory::CudaMemory(const CudaDriver& driver, CUcontext context, int64_t num_units, DeviceTime& time)
    : driver_(driver), context_(context), time_(time) {
  const CurrentContext current(driver_, context_);
  contents_.kernels.emplace(driver, num_units, time);
}

CudaMemory::~CudaMemory() {
  const CurrentContext current(driver_, context_, std::nothrow);
  contents_.kernels.reset();
}

template <typename Work>
auto CudaMemory::within(const Work& work) {
  const Lock lock(mutex_);
  const CurrentContext current(driver_, context_);
  return work(contents_);
}

Buffer CudaMemory::allocate(uint64_t bytes, uint32_t alignment) {
  return within([&](Contents& own) -> Buffer {
    own.blocks.reserve(own.blocks.size() + 1);
    const uint64_t more = alignment > kDriverAlignment ? alignment : 0;
    CUdeviceptr block = 0;
    const CUresult result = driver_.cuMemAlloc(&block, std::max<uint64_t>(bytes + more, 1));
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
      fail(ErrorCode::device, "the GPU has no {} MiB left, end other programs that use it, or tune smaller shapes",
           (bytes >> 20) + 1);
    driver_.check(result, "allocate memory");
    const CUdeviceptr begin = more > 0 ? (block + alignment - 1) / alignment * alignment : block;
    auto* const data = reinterpret_cast<void*>(begin);
    if (begin != block) own.blocks.emplace(data, block);
    return {data, bytes};
  });
}

void CudaMemory::release(Buffer buffer) noexcept {
  if (buffer.data == nullptr) return;
  try {
    within([&](Contents& own) {
      const auto known = own.blocks.find(buffer.data);
      driver_.cuMemFree(known == own.blocks.end() ? address_of(buffer.data) : known->second);
      if (known != own.blocks.end()) own.blocks.erase(known);
    });
  } catch (const Error&) {
    // The context is lost, and its memory with it.
  }
}

std::optional<uint64_t> CudaMemory::free_bytes() {
  return within([&](Contents&) -> std::optional<uint64_t> {
    size_t free = 0, all = 0;
    if (driver_.cuMemGetInfo(&free, &all) != CUDA_SUCCESS) return std::nullopt;
    return free;
  });
}

void CudaMemory::upload(void* to, std::span<const std::byte> from) {
  if (from.empty()) return;
  within([&](Contents&) {
    driver_.check(driver_.cuCtxSynchronize(), "complete its work");
    driver_.check(driver_.cuMemcpyHtoD(address_of(to), from.data(), from.size()), "take a copy");
    // The call may return once the bytes are staged, and streams of other libraries do not wait for the rest.
    driver_.check(driver_.cuCtxSynchronize(), "take a copy");
  });
}

void CudaMemory::download(std::span<std::byte> to, const void* from) {
  if (to.empty()) return;
  within([&](Contents&) {
    driver_.check(driver_.cuCtxSynchronize(), "complete its work");
    driver_.check(driver_.cuMemcpyDtoH(to.data(), address_of(from), to.size()), "give a copy");
  });
}

void CudaMemory::copy(void* to, const void* from, uint64_t bytes) {
  if (bytes == 0) return;
  within([&](Contents&) {
    driver_.check(driver_.cuCtxSynchronize(), "complete its work");
    const double began_s = steady_clock().now_s();
    driver_.check(driver_.cuMemcpyDtoD(address_of(to), address_of(from), bytes), "copy its memory");
    driver_.check(driver_.cuCtxSynchronize(), "copy its memory");
    time_.add_busy_us(1e6 * (steady_clock().now_s() - began_s));
  });
}

void CudaMemory::fill_all(std::span<const PatternArea> areas) {
  within([&](Contents& own) { own.kernels->fill(areas); });
}

Inspection CudaMemory::inspect(std::span<const PatternArea> compared, std::span<const Buffer> hashed) {
  return within([&](Contents& own) { return own.kernels->inspect(compared, hashed); });
}

double CudaMemory::read_bandwidth_gbs(uint64_t working_set_bytes) {
  const uint64_t bytes = std::clamp<uint64_t>(working_set_bytes, 1u << 16, kReadBytes) / 16 * 16;
  const Buffer area = allocate(bytes, kDriverAlignment);
  // Long enough to make the launch a small part.
  const auto rounds = static_cast<uint32_t>(std::max<uint64_t>(1, 2 * kReadBytes / bytes));
  double us = 0;
  try {
    fill(area, {0x0123456789abcdef, 8});
    within([&](Contents& own) {
      for (int i = 0; i < 5; ++i) {
        const double one = own.kernels->read_us(area, rounds);
        us = i == 0 ? one : std::min(us, one);
      }
    });
  } catch (...) {
    release(area);
    throw;
  }
  release(area);
  return us > 0 ? static_cast<double>(bytes) * rounds / us / 1e3 : 0;
}

double CudaMemory::clock_ghz(double us) {
  return within([&](Contents& own) { return own.kernels->clock_ghz(us); });
}

}  // namespace attune
