// SPDX-License-Identifier: MIT
#include "measured_peak.h"

#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace attune::experiments {
namespace {

using Steady = std::chrono::steady_clock;
constexpr auto kWarmUp = std::chrono::milliseconds(60), kTimed = std::chrono::milliseconds(140);
constexpr int kSteps = 10'000;  // Of a block: some microseconds between two readings of the clock.

/// Each runs kSteps of independent multiply-adds and returns their floating-point operations. The empty asm statements
/// keep the values in registers and the loop from being folded.
__attribute__((target("avx2,fma"))) double run_avx2(float seed) {
  __m256 sums[10];
  for (auto& sum : sums) sum = _mm256_set1_ps(seed);
  const __m256 factor = _mm256_set1_ps(1.0f + seed * 1e-9f);
  for (int i = 0; i < kSteps; ++i) {
    for (auto& sum : sums) {
      sum = _mm256_fmadd_ps(sum, factor, factor);
      asm volatile("" : "+x"(sum));
    }
  }
  return 2.0 * 8 * 10 * kSteps;
}

__attribute__((target("avx512f"))) double run_avx512(float seed) {
  __m512 sums[10];
  for (auto& sum : sums) sum = _mm512_set1_ps(seed);
  const __m512 factor = _mm512_set1_ps(1.0f + seed * 1e-9f);
  for (int i = 0; i < kSteps; ++i) {
    for (auto& sum : sums) {
      sum = _mm512_fmadd_ps(sum, factor, factor);
      asm volatile("" : "+v"(sum));
    }
  }
  return 2.0 * 16 * 10 * kSteps;
}

__attribute__((target("avx512f,avx512bf16"))) double run_avx512_bf16(float seed) {
  __m512 sums[12];
  for (auto& sum : sums) sum = _mm512_set1_ps(seed);
  const auto pairs = _mm512_cvtne2ps_pbh(_mm512_set1_ps(seed), _mm512_set1_ps(seed));
  for (int i = 0; i < kSteps; ++i) {
    for (auto& sum : sums) {
      sum = _mm512_dpbf16_ps(sum, pairs, pairs);
      asm volatile("" : "+v"(sum));
    }
  }
  return 2.0 * 32 * 12 * kSteps;
}

struct alignas(64) TileShapes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

/// Eight tiles of 16 × 64 bytes: four sums, two operands of each side.
__attribute__((target("amx-tile,amx-bf16"))) double run_amx(float) {
  TileShapes shapes;
  std::fill_n(shapes.row_bytes, 8, uint16_t{64});
  std::fill_n(shapes.rows, 8, uint8_t{16});
  asm volatile("" : : "r"(&shapes) : "memory");  // The intrinsic says that it reads eight bytes; it reads all.
  _tile_loadconfig(&shapes);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
  for (int i = 0; i < kSteps / 16; ++i) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_release();
  return 2.0 * 16 * 16 * 32 * 4 * (kSteps / 16);
}

bool may_use_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

/// CPUID leaf 7: AMX-BF16 is bit 22 of EDX. GCC 12 has no name for it.
bool has_amx_bf16() {
  uint32_t a = 7, b = 0, c = 0, d = 0;
  asm volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  return (d >> 22 & 1) != 0;
}

using Block = double (*)(float);

Block block_of(std::string_view dtype) {
  if (dtype == "fp32") {
    if (__builtin_cpu_supports("avx512f")) return run_avx512;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? run_avx2 : nullptr;
  }
  if (dtype != "bf16") return nullptr;
  if (has_amx_bf16() && may_use_tiles()) return run_amx;
  return __builtin_cpu_supports("avx512bf16") ? run_avx512_bf16 : nullptr;
}

/// Operations per nanosecond of one thread between the warm-up's end and the end.
double rate_of(Block block, Steady::time_point begin) {
  while (Steady::now() < begin + kWarmUp) block(1);
  const auto timed_from = Steady::now();
  double operations = 0;
  while (Steady::now() < begin + kWarmUp + kTimed) operations += block(1);
  return operations / std::chrono::duration<double, std::nano>(Steady::now() - timed_from).count();
}

}  // namespace

double measured_peak_gflops(std::string_view dtype, int num_threads) {
  const Block block = block_of(dtype);
  if (block == nullptr) return 0;
  std::vector<double> rates(static_cast<size_t>(std::max(1, num_threads)));
  std::vector<std::jthread> threads;
  const auto begin = Steady::now();
  for (double& rate : rates) threads.emplace_back([&rate, block, begin] { rate = rate_of(block, begin); });
  threads.clear();
  double sum = 0;
  for (const double rate : rates) sum += rate;
  return sum;
}

}  // namespace attune::experiments
