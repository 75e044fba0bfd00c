// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "attune/dtype.h"
#include "tensor/tensor_fill.h"

namespace attune {

// Seeded data of every type but where said, identical on every machine. Counter-based; about 1 ns per element (fp32).
// `out` is whole elements; of a type of four bits it has two elements a byte, those that pad a row included.

/// Fills with signed values of mean 0: the sum of four 16-bit uniform numbers (Irwin-Hall), so within ±3.5 standard
/// deviations. That is 1, but 32 of int8, 2 of int4, 1.5 of e2m1 and 1000 of int32, which use their range. A type of at
/// most eight bits has its largest and smallest positive number at the beginning, their negatives at the end, if `out`
/// has eight elements or more. Throws invalid_input for e8m0, which has no sign.
void fill_normal(DType dtype, uint64_t seed, std::span<std::byte> out);
/// Fills with whole numbers in [−limit, limit], exact in every type for limit ≤ 4, and in those of eight bits or more
/// for limit ≤ 8. Throws invalid_input for e8m0.
void fill_integers(DType dtype, uint64_t seed, int limit, std::span<std::byte> out);

/// Fills as `how` says. Of bf16, fp16 and fp32 an element has the bits of fill_element(). Throws as the two above.
void fill_tensor(const TensorFill& how, std::span<std::byte> out);
/// The counter of the first element of a tensor that is filled with this seed.
uint64_t fill_start(uint64_t seed);

/// How scales are drawn: any number, or powers of two from 1/2 to 2, with which small whole numbers stay exact.
enum class ScaleValues : uint8_t { any, exact };
/// Fills with positive scales between 2^-4 and 2^4: each power of two is equally frequent, and so is each mantissa. Of
/// `any`, the first is 2^-6 and the last 2^5, if there are two or more. Throws invalid_input unless the type is fp32,
/// bf16, fp16 or e8m0.
void fill_scales(DType dtype, uint64_t seed, ScaleValues values, std::span<std::byte> out);

}  // namespace attune
