// SPDX-License-Identifier: MIT
// OnednnQuantisedSolver::version() states a change of this code.
#include "solvers/onednn/scaled_sums.h"

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <type_traits>

#include "solvers/onednn/shared_work.h"
#include "tensor/convert.h"

namespace attune {
namespace {

/// Elements of a row that are computed at once, in the first cache.
constexpr int64_t kChunk = 256;

#define ATTUNE_V4 __attribute__((target("arch=x86-64-v4"), optimize("O3")))
#define ATTUNE_V3 __attribute__((target("arch=x86-64-v3"), optimize("O3")))
#define ATTUNE_INLINE inline __attribute__((always_inline))

bool has_v4() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("x86-64-v4");
}

ATTUNE_INLINE void convert_some(const int8_t* __restrict from, uint16_t* __restrict to, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(from[i])) >> 16);
}
ATTUNE_V4 void convert_v4(const int8_t* from, uint16_t* to, int64_t count) { convert_some(from, to, count); }
ATTUNE_V3 void convert_v3(const int8_t* from, uint16_t* to, int64_t count) { convert_some(from, to, count); }

ATTUNE_INLINE void widen(const uint16_t* __restrict stored, float* __restrict values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) values[i] = from_bf16(stored[i]);
}
ATTUNE_INLINE void narrow(const float* __restrict values, uint16_t* __restrict stored, int64_t count) {
  for (int64_t i = 0; i < count; ++i) stored[i] = to_bf16(values[i]);
}
// GCC 12 does not vectorise the conversions of fp16 by itself.
__attribute__((target("arch=x86-64-v3"), noinline)) void widen(const _Float16* stored, float* values, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(values + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(stored + i))));
  for (; i < count; ++i) values[i] = static_cast<float>(stored[i]);
}
__attribute__((target("arch=x86-64-v3"), noinline)) void narrow(const float* values, _Float16* stored, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(stored + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(values + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  for (; i < count; ++i) stored[i] = static_cast<_Float16>(values[i]);
}

/// Part of a row: `b_scale`, `bias` and `c` begin where `sums` does.
template <typename Sum, typename Out, typename Real>
ATTUNE_INLINE void scale_chunk(const Sum* __restrict sums, float a_scale, const float* __restrict b_scale,
                               bool b_has_one_scale, const Out* bias, Out* c, int64_t count) {
  alignas(64) float values[kChunk], added[kChunk];
  if (b_has_one_scale) {
    const float factor = b_scale[0];
    for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(static_cast<Real>(sums[i]) * a_scale * factor);
  } else {
    for (int64_t i = 0; i < count; ++i)
      values[i] = static_cast<float>(static_cast<Real>(sums[i]) * a_scale * b_scale[i]);
  }
  if (bias != nullptr) {
    widen(bias, added, count);
    for (int64_t i = 0; i < count; ++i) values[i] += added[i];
  }
  narrow(values, c, count);
}

/// The chunks `begin` … `end` of all rows, row by row.
template <typename Sum, typename Out, typename Real>
ATTUNE_INLINE void scale_chunks(const ScaledSums& call, int64_t begin, int64_t end) {
  const QuantisedGemm& shape = call.shape;
  const int64_t chunks = (shape.n + kChunk - 1) / kChunk;
  const bool b_has_one_scale = shape.b_scales.rows == 0;
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const int64_t row = chunk / chunks, column = chunk % chunks * kChunk, at = row * shape.n + column;
    const auto* bias = static_cast<const Out*>(call.bias);
    scale_chunk<Sum, Out, Real>(
        static_cast<const Sum*>(call.sums) + at, call.a_scale[shape.a_scales.index(row, 0, shape.k)],
        call.b_scale + (b_has_one_scale ? 0 : column), b_has_one_scale, bias == nullptr ? nullptr : bias + column,
        static_cast<Out*>(call.c) + at, std::min(kChunk, shape.n - column));
  }
}

using ScaleChunks = void (*)(const ScaledSums&, int64_t, int64_t);

template <typename Sum, typename Out, typename Real>
struct Scaling {
  ATTUNE_V4 static void v4(const ScaledSums& call, int64_t begin, int64_t end) {
    scale_chunks<Sum, Out, Real>(call, begin, end);
  }
  ATTUNE_V3 static void v3(const ScaledSums& call, int64_t begin, int64_t end) {
    scale_chunks<Sum, Out, Real>(call, begin, end);
  }
  static ScaleChunks here() { return has_v4() ? v4 : v3; }
};

template <typename Sum, typename Real>
ScaleChunks scaling_of(DType out) {
  return out == DType::fp16 ? Scaling<Sum, _Float16, Real>::here() : Scaling<Sum, uint16_t, Real>::here();
}

}  // namespace

void convert_to_bf16(const int8_t* from, uint16_t* to, int64_t count, int threads) {
  const auto convert = has_v4() ? convert_v4 : convert_v3;
  const int64_t lines = (count + 63) / 64;
  share_work(lines, count < kMinSharedElements ? 1 : threads, [&](int64_t begin, int64_t end) {
    convert(from + begin * 64, to + begin * 64, std::min(count, end * 64) - begin * 64);
  });
}

void scale_sums(const ScaledSums& call, int threads) {
  const QuantisedGemm& shape = call.shape;
  const auto scale = call.in_double  ? scaling_of<float, double>(shape.out)
                     : call.is_float ? scaling_of<float, float>(shape.out)
                                     : scaling_of<int32_t, float>(shape.out);
  const int64_t chunks = shape.m * ((shape.n + kChunk - 1) / kChunk);
  share_work(chunks, shape.m * shape.n < kMinSharedElements ? 1 : threads,
             [&](int64_t begin, int64_t end) { scale(call, begin, end); });
}

}  // namespace attune
