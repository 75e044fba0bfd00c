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

AreaList list_of(std::span<const Buffer> areas) {
  AreaList list{};
  for (const Buffer& area : areas) {
    list.data[list.count] = static_cast<uint8_t*>(area.data);
    list.bytes[list.count] = area.bytes;
    const uint64_t pieces = (area.bytes + AreaList::kPieceBytes - 1) / AreaList::kPieceBytes;
    list.first_piece[list.count + 1] = list.first_piece[list.count] + static_cast<uint32_t>(pieces);
    ++list.count;
  }
  return list;
}

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
  driver.check(driver.cuMemAlloc(&words_, sizeof(Words) * AreaList::kMaxAreas), "allocate memory");
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

void DeviceKernels::clear_answers(size_t count) {
  driver_.check(driver_.cuMemsetD32Async(words_, 0, count * sizeof(Words) / sizeof(uint32_t), nullptr),
                "set its memory");
}

/// Runs a kernel over the areas, as few launches as they fit into, and returns its answer about each.
template <typename... Values>
std::vector<DeviceKernels::Words> DeviceKernels::ask(CUfunction kernel, std::span<const Buffer> areas,
                                                     Values... values) {
  driver_.check(driver_.cuCtxSynchronize(), "complete its work");
  std::vector<Words> all;
  while (!areas.empty()) {
    const auto some = areas.first(std::min<size_t>(areas.size(), AreaList::kMaxAreas));
    areas = areas.subspan(some.size());
    const AreaList list = list_of(some);
    driver_.check(driver_.cuEventRecord(begin_, nullptr), "mark a time");
    clear_answers(some.size());
    launch(kernel, list.first_piece[list.count], list, values..., words_);
    driver_.check(driver_.cuEventRecord(end_, nullptr), "mark a time");
    const auto words = answers(some.size());
    time_.add_busy_us(marked_us());
    all.insert(all.end(), words.begin(), words.end());
  }
  return all;
}

void DeviceKernels::fill(std::span<const Buffer> areas, Pattern pattern) { ask(fill_, areas, repeated(pattern)); }

std::vector<PatternScan> DeviceKernels::scan(std::span<const Buffer> areas, Pattern pattern) {
  std::vector<PatternScan> scans;
  // Places are answered as complements, so that 0, the least of them, stands for none.
  for (const auto& [other, num_equal, equal, unused] : ask(scan_, areas, repeated(pattern), pattern.bytes))
    scans.push_back({other == 0 ? std::nullopt : std::optional(~other), num_equal, num_equal > 0 ? ~equal : 0});
  return scans;
}

std::vector<Hash128> DeviceKernels::hash(std::span<const Buffer> areas) {
  std::vector<Hash128> hashes;
  const auto sums = ask(hash_, areas);
  for (size_t i = 0; i < areas.size(); ++i) hashes.push_back({sums[i][0] ^ areas[i].bytes, sums[i][1]});
  return hashes;
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

/// Time between the marks, which have been reached.
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
