// SPDX-License-Identifier: MIT
#pragma once
#include <bit>
#include <cstdint>
#include <limits>

namespace attune {

/// Codes of a narrow float that are no finite numbers.
enum class Specials : uint8_t {
  none,       ///< There are none; overflow becomes the largest number (e2m1).
  nan_only,   ///< All ones is NaN, overflow too; there is no infinity (e4m3fn).
  ieee,       ///< Infinities and NaN, as in IEEE 754 (e5m2).
  minus_zero  ///< The code of −0 is the only NaN, overflow too; there is neither infinity nor −0 (fnuz).
};

/// A float of at most eight bits: sign, exponent, mantissa. The formats are those of the OCP specifications (OFP8 1.0,
/// Microscaling 1.0) and of AMD's fnuz numbers; conversions agree bit by bit with ml_dtypes 0.6. A code is
/// right-aligned in its byte.
struct NarrowFloat {
  int exponent_bits, mantissa_bits, bias;
  Specials specials;

  constexpr uint32_t sign_bit() const { return 1u << (exponent_bits + mantissa_bits); }
  /// Code of infinity, where there is one.
  constexpr uint32_t infinity() const { return sign_bit() - (1u << mantissa_bits); }
  /// Code of the largest finite number.
  constexpr uint32_t largest() const {
    if (specials == Specials::ieee) return infinity() - 1;
    return specials == Specials::nan_only ? sign_bit() - 2 : sign_bit() - 1;
  }

  /// Rounds to nearest, ties to even, in the default rounding mode. NaN stays NaN, and becomes a zero where there is
  /// none.
  constexpr uint8_t encode(float value) const {
    const auto bits = std::bit_cast<uint32_t>(value);
    const uint32_t sign = bits >> 31 != 0 ? sign_bit() : 0, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<uint8_t>(nan(sign));
    const uint32_t code = magnitude == 0x7f800000u ? largest() + 1 : rounded(magnitude);
    if (code > largest()) return static_cast<uint8_t>(overflow(sign));
    return static_cast<uint8_t>(code == 0 && specials == Specials::minus_zero ? 0 : sign | code);
  }

  constexpr float decode(uint8_t code) const {
    const uint32_t magnitude = code & (sign_bit() - 1);
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    if (specials == Specials::minus_zero && code == sign_bit()) return kNan;
    const bool is_negative = (code & sign_bit()) != 0;
    if (magnitude > largest()) {
      if (specials != Specials::ieee || magnitude != infinity()) return kNan;
      return is_negative ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
    }
    const uint32_t exponent = magnitude >> mantissa_bits, mantissa = magnitude & ((1u << mantissa_bits) - 1);
    const uint32_t digits = exponent == 0 ? mantissa : mantissa | 1u << mantissa_bits;
    const float value =
        static_cast<float>(digits) * power(static_cast<int>(exponent == 0 ? 1 : exponent) - bias - mantissa_bits);
    return is_negative ? -value : value;
  }

 private:
  static constexpr float power(int exponent) {
    return std::bit_cast<float>(static_cast<uint32_t>(exponent + 127) << 23);
  }

  /// Code of a finite magnitude, given by its bits as a float; above largest() if it overflows.
  constexpr uint32_t rounded(uint32_t magnitude) const {
    const int shift = 23 - mantissa_bits;
    const auto least_normal = static_cast<uint32_t>(128 - bias) << 23;
    if (magnitude >= least_normal) {
      const uint32_t even = magnitude >> shift & 1u;
      return ((magnitude + (1u << (shift - 1)) - 1 + even) >> shift) -
             (static_cast<uint32_t>(127 - bias) << mantissa_bits);
    }
    // A float whose last digit is the smallest step of the format: the sum rounds as the format does.
    const float magic = power(1 - bias - mantissa_bits + 23);
    return std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + magic) - std::bit_cast<uint32_t>(magic);
  }

  constexpr uint32_t nan(uint32_t sign) const {
    switch (specials) {
      case Specials::none:
        return sign ^ sign_bit();
      case Specials::ieee:
        return sign | infinity() | 1u << (mantissa_bits - 1);
      default:
        return overflow(sign);
    }
  }

  constexpr uint32_t overflow(uint32_t sign) const {
    switch (specials) {
      case Specials::none:
        return sign | largest();
      case Specials::minus_zero:
        return sign_bit();
      default:
        return sign | (largest() + 1);
    }
  }
};

inline constexpr NarrowFloat kE4m3fn{4, 3, 7, Specials::nan_only}, kE4m3fnuz{4, 3, 8, Specials::minus_zero},
    kE5m2{5, 2, 15, Specials::ieee}, kE5m2fnuz{5, 2, 16, Specials::minus_zero}, kE2m1{2, 1, 1, Specials::none};

/// e8m0, a power of two without a sign: 2^(code − 127), 255 is NaN. Rounds to the nearest power, ties up; what is not
/// positive and what is too large becomes NaN.
constexpr uint8_t encode_e8m0(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (bits == 0 || bits > 0x7f800000u) return 0xff;
  if (bits < 0x00800000u) return bits > 0x00400000u ? 1 : 0;  // As ml_dtypes does: 2^-127 at most, or 2^-126.
  return static_cast<uint8_t>((bits + 0x00400000u) >> 23);
}
constexpr float decode_e8m0(uint8_t code) {
  if (code == 0xff) return std::numeric_limits<float>::quiet_NaN();
  return std::bit_cast<float>(code == 0 ? 0x00400000u : static_cast<uint32_t>(code) << 23);
}

}  // namespace attune
