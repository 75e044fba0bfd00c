// SPDX-License-Identifier: MIT
#include "tensor/narrow_float.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "base/hash.h"
#include "tensor/convert.h"

namespace attune {
namespace {

struct Golden {
  DType dtype;
  std::string_view codes, numbers;
};

/// Hashes of ml_dtypes 0.6.0; tests/tools/narrow_float_hashes prints them and explains their inputs.
constexpr Golden kGolden[] = {
    {DType::e4m3fn, "f49d44f30bacfad03d57a2951dbd7b87", "a01054d7cbea3f28fb2b5389cc74cd55"},
    {DType::e4m3fnuz, "359235b2f4598b3dbbfd9317056844ce", "a7ab60d9514fca1447c39bf5b899e5af"},
    {DType::e5m2, "2671fb16460d5b4a2906abb982ad90e8", "48f07ee9ff0ad073027b40ef7f62c594"},
    {DType::e5m2fnuz, "17a6d2e1033adf10475c80686fb748ce", "83442395a4b74ef617ae256b77af48cd"},
    {DType::e2m1, "94eb2043b87485a484cc2effa39c94f1", "4f0913bbb63242516c16633c72a83b14"},
    {DType::e8m0, "56f4bf8c1369c0d98792de798e975d33", "3a6e54f9ea32ec5c60b09394ef29bb44"},
};

/// All upper halves of a float with six lower halves: what is next to each tie.
std::vector<float> floats() {
  std::vector<float> all;
  for (uint32_t high = 0; high < 65536; ++high) {
    for (const uint32_t low : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      all.push_back(std::bit_cast<float>(high << 16 | low));
  }
  return all;
}

/// One code a byte, also of a type of four bits.
std::vector<std::byte> codes_of(DType dtype, const std::vector<float>& values) {
  std::vector<std::byte> stored(stored_bytes(bits(dtype), values.size()));
  from_float(dtype, values, stored.data());
  if (bits(dtype) == 8) return stored;
  std::vector<std::byte> codes;
  for (const std::byte both : stored) {
    codes.push_back(both & std::byte{15});
    codes.push_back(both >> 4);
  }
  return codes;
}

std::vector<std::byte> numbers_of(DType dtype) {
  std::vector<std::byte> numbers;
  for (unsigned code = 0; code < 1u << bits(dtype); ++code) {
    const auto stored = static_cast<std::byte>(code);
    float value = 0;
    to_float(dtype, &stored, std::span(&value, 1));
    const uint32_t pattern = std::isnan(value) ? 0x7fc00000u : std::bit_cast<uint32_t>(value);
    const auto* first = reinterpret_cast<const std::byte*>(&pattern);
    numbers.insert(numbers.end(), first, first + sizeof pattern);
  }
  return numbers;
}

TEST(NarrowFloat, AgreesWithMlDtypesBitByBit) {
  const std::vector<float> values = floats();
  for (const Golden& golden : kGolden) {
    EXPECT_EQ(hash128(std::span<const std::byte>(codes_of(golden.dtype, values))).hex(), golden.codes)
        << name(golden.dtype);
    EXPECT_EQ(hash128(std::span<const std::byte>(numbers_of(golden.dtype))).hex(), golden.numbers)
        << name(golden.dtype);
  }
}

TEST(NarrowFloat, OverflowsAsItsFormatSays) {
  EXPECT_EQ(kE4m3fn.encode(464), 0x7e);  // A tie between 448 and what would be 480.
  EXPECT_TRUE(std::isnan(kE4m3fn.decode(kE4m3fn.encode(465))));
  EXPECT_TRUE(std::isnan(kE4m3fnuz.decode(kE4m3fnuz.encode(-248))));
  EXPECT_EQ(kE5m2.decode(kE5m2.encode(-61440)), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(kE2m1.decode(kE2m1.encode(1e30f)), 6);
  EXPECT_EQ(kE4m3fnuz.encode(-0.0f), 0);
}

}  // namespace
}  // namespace attune
