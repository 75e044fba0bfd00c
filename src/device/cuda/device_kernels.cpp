// SPDX-License-Identifier: MIT
#include "device/cuda/device_kernels.h"

#include <algorithm>
#include <cstddef>

extern "C" const unsigned char cuda_memory_kernels[];  // device_kernels.cu, for several architectures.

namespace attune {
namespace {

constexpr uint32_t kThreads = 256, kBlocksPerUnit = 8;

CUdeviceptr address_of(Buffer area) { return reinterpret_cast<CUdeviceptr>(area.data); }

uint64_t repeated(Pattern pattern) {
  uint64_t value = pattern.value;
  if (pattern.bytes < 8) value &= (uint64_t{1} << (8 * pattern.bytes)) - 1;
  for (uint32_t bytes = pattern.bytes; bytes < 8; bytes *= 2) value |= value << (8 * bytes);
  return value;
}

}  // namespace

DeviceKernels::DeviceKernels(const CudaDriver& driver, int64_t num_units)
    : driver_(driver), max_blocks_(static_cast<uint32_t>(num_units) * kBlocksPerUnit) {
  driver.check(driver.cuModuleLoadData(&module_, cuda_memory_kernels), "load the kernels for its memory");
  fill_ = function("attune_fill");
  scan_ = function("attune_scan");
  hash_ = function("attune_hash");
  read_ = function("attune_read");
  clock_ = function("attune_clock");
  driver.check(driver.cuEventCreate(&begin_, CU_EVENT_DEFAULT), "make an event");
  driver.check(driver.cuEventCreate(&end_, CU_EVENT_DEFAULT), "make an event");
  driver.check(driver.cuMemAlloc(&words_, sizeof(uint64_t) * kNumWords), "allocate memory");
}

DeviceKernels::~DeviceKernels() {
  if (words_ != 0) driver_.cuMemFree(words_);
  if (end_ != nullptr) driver_.cuEventDestroy(end_);
  if (begin_ != nullptr) driver_.cuEventDestroy(begin_);
  driver_.cuModuleUnload(module_);
}

CUfunction DeviceKernels::function(const char* name) const {
  CUfunction function = nullptr;
  driver_.check(driver_.cuModuleGetFunction(&function, module_, name), "find a kernel for its memory");
  return function;
}

template <typename... Values>
void DeviceKernels::launch(CUfunction kernel, uint64_t elements, Values... values) {
  std::array<void*, sizeof...(Values)> arguments = {&values...};
  const auto blocks = static_cast<uint32_t>(std::clamp<uint64_t>((elements + kThreads - 1) / kThreads, 1, max_blocks_));
  driver_.check(driver_.cuLaunchKernel(kernel, blocks, 1, 1, kThreads, 1, 1, 0, nullptr, arguments.data(), nullptr),
                "launch a kernel");
}

std::array<uint64_t, DeviceKernels::kNumWords> DeviceKernels::results() {
  std::array<uint64_t, kNumWords> words{};
  driver_.check(driver_.cuMemcpyDtoH(words.data(), words_, sizeof words), "answer");
  return words;
}

void DeviceKernels::set_results(const std::array<uint64_t, kNumWords>& words) {
  driver_.check(driver_.cuCtxSynchronize(), "complete its work");
  driver_.check(driver_.cuMemcpyHtoD(words_, words.data(), sizeof words), "take a value");
}

void DeviceKernels::fill(Buffer area, Pattern pattern) {
  if (area.bytes == 0) return;
  driver_.check(driver_.cuCtxSynchronize(), "complete its work");
  launch(fill_, area.bytes / 16, address_of(area), area.bytes, repeated(pattern));
  driver_.check(driver_.cuCtxSynchronize(), "fill its memory");
}

PatternScan DeviceKernels::scan(Buffer area, Pattern pattern) {
  if (area.bytes == 0) return {};
  constexpr uint64_t kNone = ~uint64_t{0};
  set_results({kNone, 0, kNone, 0});
  launch(scan_, area.bytes / pattern.bytes, address_of(area), area.bytes, repeated(pattern), pattern.bytes, words_);
  const auto words = results();
  return {words[0] == kNone ? std::nullopt : std::optional(words[0]), words[1], words[1] > 0 ? words[2] : 0};
}

Hash128 DeviceKernels::hash(Buffer area) {
  set_results({});
  if (area.bytes > 0) launch(hash_, area.bytes / 8, address_of(area), area.bytes, words_);
  const auto words = results();
  return {words[0] ^ area.bytes, words[1]};
}

double DeviceKernels::read_us(Buffer area, uint32_t rounds) {
  driver_.check(driver_.cuEventRecord(begin_, nullptr), "mark a time");
  launch(read_, area.bytes / 16, address_of(area), area.bytes / 16, rounds, words_);
  driver_.check(driver_.cuEventRecord(end_, nullptr), "mark a time");
  driver_.check(driver_.cuCtxSynchronize(), "read its memory");
  float ms = 0;
  driver_.check(driver_.event_elapsed_time(&ms, begin_, end_), "take a time");
  return 1e3 * static_cast<double>(ms);
}

double DeviceKernels::clock_ghz(double us) {
  // One thread: the launch takes as many blocks as there are elements.
  const auto ns = static_cast<uint64_t>(1e3 * us);
  std::array<void*, 2> arguments = {const_cast<uint64_t*>(&ns), &words_};
  driver_.check(driver_.cuLaunchKernel(clock_, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments.data(), nullptr),
                "launch a kernel");
  const auto words = results();
  return words[1] > 0 ? static_cast<double>(words[0]) / static_cast<double>(words[1]) : 0;
}

}  // namespace attune
