// SPDX-License-Identifier: MIT
#include "tensor/fill_element.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "tensor/convert.h"
#include "tensor/kernel_dtype.h"
#include "tensor/random_fill.h"

namespace attune {
namespace {

constexpr std::array kTypes = {DType::fp32, DType::bf16, DType::fp16};

size_t size_of(DType dtype) { return static_cast<size_t>(bits(dtype)) / 8; }

TEST(FillElement, AKernelWritesTheBytesOfTheHost) {
  constexpr size_t kCount = 100'003;
  using enum TensorFill::Values;
  for (const DType dtype : kTypes) {
    ASSERT_TRUE(is_kernel_dtype(dtype));
    for (const TensorFill how :
         {TensorFill{.values = normal, .dtype = dtype, .seed = 7},
          TensorFill{.values = normal, .dtype = dtype, .seed = 8, .factor = 0x1p-7f},
          // Below fp16's smallest normal, where rounding twice differs from rounding once.
          TensorFill{.values = normal, .dtype = dtype, .seed = 9, .factor = 0x1p-20f},
          TensorFill{.values = integers, .dtype = dtype, .seed = 7, .limit = 4},
          TensorFill{.values = uniform, .dtype = dtype, .seed = 7}, TensorFill{.values = sine, .dtype = dtype},
          TensorFill{.dtype = dtype, .number = -1.37f}}) {
      std::vector<std::byte> host(kCount * size_of(dtype)), kernel(host.size());
      fill_tensor(how, host);
      for (size_t i = 0; i < kCount; ++i) {
        const uint32_t element = fill_element(how, fill_start(how.seed), i);
        std::memcpy(kernel.data() + i * size_of(dtype), &element, size_of(dtype));
      }
      EXPECT_TRUE(host == kernel) << name(dtype) << ", " << static_cast<int>(how.values) << ", " << how.factor;
    }
  }
}

TEST(FillElement, RoundsEveryMagnitudeAsTheHostDoes) {
  for (const DType dtype : kTypes) {
    for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 0x3fd1) {
      const auto value = std::bit_cast<float>(static_cast<uint32_t>(bits));
      if (!std::isfinite(value)) continue;
      uint32_t expected = 0;
      std::array<std::byte, 4> stored{};
      from_float(dtype, std::array{value}, stored.data());
      std::memcpy(&expected, stored.data(), size_of(dtype));
      ASSERT_EQ(rounded_bits(dtype, value), expected) << name(dtype) << ' ' << value;
      float back = 0;
      to_float(dtype, stored.data(), {&back, 1});
      if (std::isfinite(back)) {
        ASSERT_EQ(value_of_bits(dtype, expected), back) << name(dtype) << ' ' << value;
      }
    }
  }
}

}  // namespace
}  // namespace attune
