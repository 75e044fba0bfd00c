// SPDX-License-Identifier: MIT
#include "device/host/read_bandwidth.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <numeric>
#include <thread>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/error.h"
#include "base/machine.h"

namespace attune {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kPartUs = 1000;      // one measured part: long compared with a barrier's cost
constexpr double kBudgetUs = 30'000;  // for all parts, without the time to fill the memory
constexpr int kLeastParts = 5;

/// Reads whole 512-byte blocks with the widest loads available: the loop's own speed must not be the bound.
#if defined(__x86_64__)
__attribute__((target("avx512f"))) uint64_t read_avx512(const std::byte* data, uint64_t bytes) {
  __m512i sums[8] = {};
  for (uint64_t i = 0; i < bytes; i += 512) {
    for (int j = 0; j < 8; ++j)
      sums[j] = _mm512_xor_si512(sums[j], _mm512_load_si512(data + i + 64 * static_cast<uint64_t>(j)));
  }
  for (int j = 1; j < 8; ++j) sums[0] = _mm512_xor_si512(sums[0], sums[j]);
  // GCC 12's reduction intrinsic warns of its own uninitialised value.
  alignas(64) uint64_t words[8];
  _mm512_store_si512(words, sums[0]);
  return words[0] ^ words[1] ^ words[2] ^ words[3] ^ words[4] ^ words[5] ^ words[6] ^ words[7];
}
__attribute__((target("avx2"))) uint64_t read_avx2(const std::byte* data, uint64_t bytes) {
  __m256i sums[8] = {};
  for (uint64_t i = 0; i < bytes; i += 256) {
    for (int j = 0; j < 8; ++j) {
      sums[j] = _mm256_xor_si256(
          sums[j], _mm256_load_si256(reinterpret_cast<const __m256i*>(data + i + 32 * static_cast<uint64_t>(j))));
    }
  }
  for (int j = 1; j < 8; ++j) sums[0] = _mm256_xor_si256(sums[0], sums[j]);
  return static_cast<uint64_t>(_mm256_extract_epi64(sums[0], 0)) ^
         static_cast<uint64_t>(_mm256_extract_epi64(sums[0], 2));
}
#endif
uint64_t read_words(const std::byte* data, uint64_t bytes) {
  uint64_t sums[8] = {};
  for (uint64_t i = 0; i < bytes; i += 64) {
    uint64_t words[8];
    std::memcpy(words, data + i, sizeof words);
    for (int j = 0; j < 8; ++j) sums[j] ^= words[j];
  }
  return sums[0] ^ sums[1] ^ sums[2] ^ sums[3] ^ sums[4] ^ sums[5] ^ sums[6] ^ sums[7];
}

uint64_t read_all(const std::byte* data, uint64_t bytes) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return read_avx512(data, bytes);
  if (__builtin_cpu_supports("avx2")) return read_avx2(data, bytes);
#endif
  return read_words(data, bytes);
}

/// Zeroed small pages, like malloc's for other code (large ones took 600 ms to allocate).
class Pages {
 public:
  explicit Pages(uint64_t bytes) : bytes_(bytes) {
    void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED)
      fail(ErrorCode::device, "cannot allocate memory to measure the bandwidth; free some: {} bytes", bytes);
    data_ = static_cast<std::byte*>(data);
  }
  ~Pages() { munmap(data_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  std::byte* data() const noexcept { return data_; }

 private:
  std::byte* data_ = nullptr;
  uint64_t bytes_ = 0;
};

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

/// Processor time of the calling thread. Preemption by another process must not lower the bound: good kernels would be
/// judged implausible.
double processor_time_us() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
}

}  // namespace

uint64_t passes_after(uint64_t passes, double took_us) noexcept {
  constexpr double kMaxGrowth = 64;
  if (took_us >= kPartUs / 2) return passes;
  const double growth = std::min(kMaxGrowth, kPartUs / std::max(took_us, 1e-3));
  return static_cast<uint64_t>(std::ceil(static_cast<double>(passes) * growth));
}

double measure_read_bandwidth_gbs(uint64_t working_set_bytes, std::span<const int> cores) {
  const uint64_t threads = std::max<size_t>(cores.size(), 1);
  const uint64_t share = std::max<uint64_t>(512, working_set_bytes / threads / 512 * 512);
  const Pages pages(share * threads);
  std::barrier<> barrier(static_cast<std::ptrdiff_t>(threads));
  std::atomic<uint64_t> sink{0}, passes{1};
  std::atomic<bool> more{true};
  std::vector<double> rates_gbs(threads);
  double best_gbs = 0;
  const auto work = [&](uint64_t index) {
    if (index < cores.size()) bind_thread(0, cores.subspan(index, 1));  // If refused, the rate is measured anyway.
    std::byte* mine = pages.data() + index * share;
    std::memset(mine, 1, share);
    auto begin = Clock::now();
    sink += read_all(mine, share);
    barrier.arrive_and_wait();
    for (int part = 0; more;) {
      const uint64_t num_passes = passes;
      const double start_us = processor_time_us();
      uint64_t sum = 0;  // A shared sum would cost more than reading the small part of many threads.
      for (uint64_t pass = 0; pass < num_passes; ++pass) sum += read_all(mine, share);
      const double took_us = processor_time_us() - start_us;
      sink += sum;
      rates_gbs[index] = static_cast<double>(num_passes * share) / (std::max(0.01, took_us) * 1e3);
      barrier.arrive_and_wait();
      if (index == 0) {
        passes = passes_after(num_passes, took_us);
        if (passes != num_passes) {
          begin = Clock::now();  // The earlier parts were too short.
        } else {
          ++part;
          best_gbs = std::max(best_gbs, std::accumulate(rates_gbs.begin(), rates_gbs.end(), 0.0));
          more = part < kLeastParts || microseconds_since(begin) < kBudgetUs;
        }
      }
      barrier.arrive_and_wait();
    }
  };
  std::vector<std::jthread> others;
  for (uint64_t index = 0; index < threads; ++index) others.emplace_back(work, index);
  others.clear();  // joins
  return best_gbs;
}

}  // namespace attune
