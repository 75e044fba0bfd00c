// SPDX-License-Identifier: MIT
// OnednnQuantisedSolver::version() states a change of this code.
#include "solvers/onednn/dequantise.h"

// GCC 12 takes the undefined operands of its own intrinsics for uninitialised variables (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

#include <algorithm>
#include <cmath>

#include "solvers/onednn/shared_work.h"
#include "tensor/narrow_float.h"

namespace attune {
namespace {

#define ATTUNE_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))

/// Reads 16 elements of e4m3fn or e4m3fnuz.
struct EightBits {
  bool is_fnuz;

  static int64_t row_bytes(int64_t k) { return k; }
  ATTUNE_AVX512 __m512 read(const uint8_t* row, int64_t at, __mmask16 which) const {
    const __m512i codes = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(which, row + at));
    const __m512i magnitudes = _mm512_and_si512(codes, _mm512_set1_epi32(0x7f));
    const int bias = is_fnuz ? 8 : 7;
    const __m512i normal = _mm512_add_epi32(_mm512_slli_epi32(magnitudes, 20), _mm512_set1_epi32((127 - bias) << 23));
    const __m512 small = _mm512_mul_ps(_mm512_cvtepi32_ps(magnitudes), _mm512_set1_ps(is_fnuz ? 0x1p-10f : 0x1p-9f));
    const __mmask16 is_small = _mm512_cmplt_epi32_mask(magnitudes, _mm512_set1_epi32(8));
    const __mmask16 is_nan = is_fnuz ? _mm512_cmpeq_epi32_mask(codes, _mm512_set1_epi32(0x80))
                                     : _mm512_cmpeq_epi32_mask(magnitudes, _mm512_set1_epi32(0x7f));
    const __m512 positive = _mm512_mask_mov_ps(_mm512_castsi512_ps(normal), is_small, small);
    const __m512i sign = _mm512_slli_epi32(_mm512_and_si512(codes, _mm512_set1_epi32(0x80)), 24);
    const __m512i bits = _mm512_or_si512(_mm512_castps_si512(positive), sign);
    return _mm512_castsi512_ps(_mm512_mask_mov_epi32(bits, is_nan, _mm512_set1_epi32(0x7fc00000)));
  }
};

/// Reads 16 elements of e2m1, from an even place on.
struct FourBits {
  static int64_t row_bytes(int64_t k) { return (k + 1) / 2; }
  ATTUNE_AVX512 __m512 read(const uint8_t* row, int64_t at, __mmask16 which) const {
    const auto num_bytes = (_mm_popcnt_u32(which) + 1) / 2;
    const __m128i bytes = _mm_maskz_loadu_epi8(static_cast<__mmask16>((1u << num_bytes) - 1), row + at / 2);
    const __m128i pairs = _mm_cvtepu8_epi16(bytes);  // 0x00hl
    const __m128i halves = _mm_and_si128(_mm_or_si128(pairs, _mm_slli_epi16(pairs, 4)), _mm_set1_epi16(0x0f0f));
    const __m512 numbers = _mm512_setr_ps(0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6);
    return _mm512_permutexvar_ps(_mm512_cvtepu8_epi32(halves), numbers);
  }
};

/// Rounds to bf16 and writes the elements of `which`.
ATTUNE_AVX512 inline void write_bf16(__m512 values, uint16_t* to, __mmask16 which) {
  const __m512i bits = _mm512_castps_si512(values);
  const __m512i even = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded =
      _mm512_srli_epi32(_mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), even), 16);
  const __mmask16 is_nan = _mm512_cmp_ps_mask(values, values, _CMP_UNORD_Q);
  const __m512i all = _mm512_mask_mov_epi32(rounded, is_nan, _mm512_set1_epi32(0x7fc0));
  _mm256_mask_storeu_epi16(to, which, _mm512_cvtepi32_epi16(all));
}

template <typename Elements>
ATTUNE_AVX512 void convert(const Elements& elements, const uint8_t* row, int64_t begin, int64_t end, float scale,
                           uint16_t* to) {
  const __m512 factor = _mm512_set1_ps(scale);
  for (int64_t at = begin; at < end; at += 16) {
    const auto which = static_cast<__mmask16>(end - at >= 16 ? 0xffff : (1u << (end - at)) - 1);
    write_bf16(_mm512_mul_ps(elements.read(row, at, which), factor), to + at, which);
  }
}

float scale_at(const ScaledMatrix& matrix, int64_t index) {
  return matrix.scale_type == DType::e8m0 ? decode_e8m0(static_cast<const uint8_t*>(matrix.scales)[index])
                                          : static_cast<const float*>(matrix.scales)[index];
}

int exponent_of(const ScaledMatrix& matrix, int64_t first, int64_t count) {
  float largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    const float one = std::abs(scale_at(matrix, first + i));
    if (std::isfinite(one)) largest = std::max(largest, one);
  }
  return largest == 0 ? 0 : std::ilogb(largest);
}

template <typename Elements>
void convert_rows(const Elements& elements, const ScaledMatrix& matrix, int64_t begin, int64_t end, uint16_t* to,
                  float* factors) {
  const auto* stored = static_cast<const uint8_t*>(matrix.elements);
  for (int64_t row = begin; row < end; ++row) {
    const uint8_t* from = stored + row * Elements::row_bytes(matrix.k);
    uint16_t* const out = to + row * matrix.k;
    if (matrix.groups.depth == 0) {
      convert(elements, from, 0, matrix.k, 1.0f, out);
      continue;
    }
    const int64_t count = matrix.groups.num_columns(matrix.k), first = matrix.groups.index(row, 0, matrix.k);
    const int exponent = exponent_of(matrix, first, count);
    factors[row] = std::ldexp(1.0f, exponent);
    for (int64_t i = 0; i < count; ++i) {
      convert(elements, from, i * matrix.groups.depth, std::min(matrix.k, (i + 1) * matrix.groups.depth),
              std::ldexp(scale_at(matrix, first + i), -exponent), out);
    }
  }
}

}  // namespace

void dequantise_to_bf16(const ScaledMatrix& matrix, uint16_t* to, float* factors, int threads) {
  share_work(matrix.rows, matrix.rows * matrix.k < kMinSharedElements ? 1 : threads, [&](int64_t begin, int64_t end) {
    if (matrix.dtype == DType::e2m1)
      convert_rows(FourBits{}, matrix, begin, end, to, factors);
    else
      convert_rows(EightBits{matrix.dtype == DType::e4m3fnuz}, matrix, begin, end, to, factors);
  });
}

}  // namespace attune
