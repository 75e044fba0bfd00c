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

void append(AreaList& list, const PatternArea& one) {
  const auto& [area, pattern] = one;
  list.data[list.count] = static_cast<uint8_t*>(area.data);
  list.bytes[list.count] = area.bytes;
  list.pattern[list.count] = repeated(pattern);
  list.pattern_bytes[list.count] = static_cast<uint8_t>(pattern.bytes);
  const uint64_t pieces = (area.bytes + AreaList::kPieceBytes - 1) / AreaList::kPieceBytes;
  list.first_piece[list.count + 1] = list.first_piece[list.count] + static_cast<uint32_t>(pieces);
  ++list.count;
}

/// An area to hash, without a pattern.
void append(AreaList& list, const Buffer& area) { append(list, PatternArea{area, {}}); }

}  // namespace

DeviceKernels::DeviceKernels(const CudaDriver& driver, int64_t num_units, DeviceTime& time)
    : driver_(driver), time_(time), max_blocks_(static_cast<uint32_t>(num_units) * kBlocksPerUnit) {
  driver.check(driver.cuModuleLoadData(&module_, cuda_memory_kernels), "load the kernels for its memory");
  fill_ = function("attune_fill");
  scan_ = function("attune_scan");
  hash_ = function("attune_hash");
  read_ = function("attune_read");
  clock_ = function("attune_clock");
  driver.check(driver.cuEventCreate(&begin_, CU_EVENT_DEFAULT), "make an event");
  driver.check(driver.cuEventCreate(&end_, CU_EVENT_DEFAULT), "make an event");
  reserve_answers(2 * AreaList::kMaxAreas);
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
void DeviceKernels::launch(CUfunction kernel, uint64_t blocks, Values... values) {
  std::array<void*, sizeof...(Values)> arguments = {&values...};
  driver_.check(driver_.cuLaunchKernel(kernel, static_cast<uint32_t>(std::clamp<uint64_t>(blocks, 1, max_blocks_)), 1,
                                       1, kThreads, 1, 1, 0, nullptr, arguments.data(), nullptr),
                "launch a kernel");
}

/// Waits for the kernels.
std::vector<DeviceKernels::Words> DeviceKernels::answers(size_t count) {
  std::vector<Words> words(count);
  driver_.check(driver_.cuMemcpyDtoH(words.data(), words_, count * sizeof(Words)), "answer");
  return words;
}

/// Makes room for `count` answers. The memory is kept, because an allocation takes longer than the kernels.
void DeviceKernels::reserve_answers(size_t count) {
  if (count <= num_words_) return;
  CUdeviceptr more = 0;
  driver_.check(driver_.cuMemAlloc(&more, count * sizeof(Words)), "allocate memory");
  if (words_ != 0) driver_.cuMemFree(words_);
  words_ = more;
  num_words_ = count;
}

/// Enqueues a kernel over the areas, in as few launches as possible. Its answers about them begin at `first_answer`.
template <typename Area>
void DeviceKernels::launch_over(CUfunction kernel, std::span<const Area> areas, size_t first_answer) {
  for (size_t first = 0; first < areas.size(); first += AreaList::kMaxAreas) {
    AreaList list{};
    for (const Area& area : areas.subspan(first, std::min<size_t>(areas.size() - first, AreaList::kMaxAreas)))
      append(list, area);
    launch(kernel, list.first_piece[list.count], list, words_ + (first_answer + first) * sizeof(Words));
  }
}

void DeviceKernels::fill(std::span<const PatternArea> areas) {
  driver_.check(driver_.cuCtxSynchronize(), "complete its work");
  if (areas.empty()) return;
  driver_.check(driver_.cuEventRecord(begin_, nullptr), "mark a time");
  launch_over(fill_, areas, 0);
  driver_.check(driver_.cuEventRecord(end_, nullptr), "mark a time");
  // Streams of other libraries are not ordered behind this one.
  driver_.check(driver_.cuCtxSynchronize(), "set its memory");
  time_.add_busy_us(marked_us());
}

Inspection DeviceKernels::inspect(std::span<const PatternArea> compared, std::span<const Buffer> hashed) {
  driver_.check(driver_.cuCtxSynchronize(), "complete its work");
  Inspection found;
  const size_t count = compared.size() + hashed.size();
  if (count == 0) return found;
  reserve_answers(count);
  driver_.check(driver_.cuEventRecord(begin_, nullptr), "mark a time");
  driver_.check(driver_.cuMemsetD32Async(words_, 0, count * sizeof(Words) / sizeof(uint32_t), nullptr),
                "set its memory");
  launch_over(scan_, compared, 0);
  launch_over(hash_, hashed, compared.size());
  driver_.check(driver_.cuEventRecord(end_, nullptr), "mark a time");
  const std::vector<Words> all = answers(count);
  time_.add_busy_us(marked_us());
  // Answers hold complements of positions, so that 0, the least value, means none.
  for (const auto& [other, num_equal, equal, unused] : std::span(all).first(compared.size()))
    found.scans.push_back({other == 0 ? std::nullopt : std::optional(~other), num_equal, num_equal > 0 ? ~equal : 0});
  for (size_t i = 0; i < hashed.size(); ++i) {
    const Words& sums = all[compared.size() + i];
    found.hashes.push_back({sums[0] ^ hashed[i].bytes, sums[1]});
  }
  return found;
}

double DeviceKernels::read_us(Buffer area, uint32_t rounds) {
  driver_.check(driver_.cuEventRecord(begin_, nullptr), "mark a time");
  launch(read_, area.bytes / 16 / kThreads, address_of(area), area.bytes / 16, rounds, words_);
  driver_.check(driver_.cuEventRecord(end_, nullptr), "mark a time");
  driver_.check(driver_.cuCtxSynchronize(), "read its memory");
  const double us = marked_us();
  time_.add_busy_us(us);
  return us;
}

/// Time between the marks, which must have been reached.
double DeviceKernels::marked_us() const {
  float ms = 0;
  driver_.check(driver_.event_elapsed_time(&ms, begin_, end_), "take a time");
  return 1e3 * static_cast<double>(ms);
}

double DeviceKernels::clock_ghz(double us) {
  const auto ns = static_cast<uint64_t>(1e3 * us);
  std::array<void*, 2> arguments = {const_cast<uint64_t*>(&ns), &words_};
  driver_.check(driver_.cuLaunchKernel(clock_, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments.data(), nullptr),
                "launch a kernel");
  const Words words = answers(1).front();
  return words[1] > 0 ? static_cast<double>(words[0]) / static_cast<double>(words[1]) : 0;
}

}  // namespace attune
