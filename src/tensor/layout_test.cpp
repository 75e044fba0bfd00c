// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "attune/error.h"
#include "attune/tensor.h"
#include "core/candidate.h"

namespace attune {
namespace {

using testing::HasSubstr;

TEST(Layouts, PlainIsTheFirst) {
  EXPECT_EQ(Layout().name, kPlainLayout);
  EXPECT_EQ(named_layouts().front().name, kPlainLayout);
  for (const NamedLayout& one : named_layouts()) EXPECT_EQ(find_named_layout(one.name)->title, one.title);
}

TensorSpec weights(DType dtype, int64_t n, int64_t k) {
  return {.role = "b", .dtype = dtype, .shape = {n, k}, .use = Use::weight};
}

/// Bytes in which each element differs from its neighbours and none is zero.
std::vector<std::byte> counted(const TensorSpec& spec) {
  std::vector<std::byte> bytes(spec.bytes());
  const size_t step = static_cast<size_t>(bits(spec.dtype)) / 8;
  for (size_t i = 0; i < bytes.size() / step; ++i) {
    const auto value = static_cast<uint32_t>(i % 65535 + 1);
    std::memcpy(bytes.data() + i * step, &value, step);
  }
  return bytes;
}

std::vector<std::byte> packed(const std::string& layout, const TensorSpec& spec, const std::vector<std::byte>& plain) {
  std::vector<std::byte> bytes(packed_bytes({layout}, spec), std::byte{0xee});
  pack({layout}, spec, plain, bytes);
  return bytes;
}

/// Position of element (n, k) of the weights, in elements: a naive second implementation of the layouts.
size_t place(const std::string& layout, const TensorSpec& spec, int64_t n, int64_t k) {
  const int64_t extent = spec.shape[1], padded = (extent + 31) / 32 * 32;
  if (layout == "plain") return static_cast<size_t>(n * extent + k);
  if (layout == "cuda.k64.v1")
    return static_cast<size_t>(((n / 8 * ((extent + 63) / 64 * 2) + k / 32) * 8 + n % 8) * 32 + k % 32);
  if (layout == "host.k16.v1") return static_cast<size_t>((n / 16 * extent + k) * 16 + n % 16);
  return static_cast<size_t>(((n / 16 * (padded / 2) + k / 2) * 16 + n % 16) * 2 + k % 2);
}

/// Calls `check` for every layout with every type it supports and sizes with every remainder.
template <typename Check>
void for_all(Check check) {
  for (const NamedLayout& layout : named_layouts()) {
    for (const DType dtype : {DType::fp32, DType::bf16, DType::fp16}) {
      const auto& takes = layout.dtypes;
      if (!takes.empty() && std::find(takes.begin(), takes.end(), dtype) == takes.end()) continue;
      for (const auto& [n, k] :
           {std::pair{1, 1}, {16, 32}, {17, 33}, {15, 31}, {48, 64}, {5, 130}, {40, 2}, {33, 127}, {9, 97}})
        check(std::string(layout.name), weights(dtype, n, k));
    }
  }
}

/// Element `at` of a row of e2m1.
unsigned nibble(const std::vector<std::byte>& bytes, size_t first_byte, size_t at) {
  return std::to_integer<unsigned>(bytes[first_byte + at / 2]) >> (at % 2 * 4) & 15;
}

TEST(Layouts, FourBitsOfAMatrixArePackedEightAlongK) {
  for (const auto& [n, k] : {std::pair{1, 1}, {16, 128}, {17, 129}, {33, 31}, {5, 262}, {48, 8}}) {
    const TensorSpec spec = weights(DType::e2m1, n, k);
    std::vector<std::byte> plain(spec.bytes());
    for (size_t i = 0; i < plain.size(); ++i) plain[i] = static_cast<std::byte>(i * 37 % 255 + 1);
    const auto bytes = packed("host.vnni8x16.v1", spec, plain);
    const auto padded = static_cast<size_t>((k + 127) / 128 * 128), row_bytes = static_cast<size_t>((k + 1) / 2);
    ASSERT_EQ(bytes.size(), static_cast<size_t>((n + 15) / 16 * 16) * padded / 2);
    size_t ones = 0, wanted_ones = 0;
    for (size_t row = 0; row < static_cast<size_t>(n); ++row) {
      for (size_t at = 0; at < static_cast<size_t>(k); ++at) {
        const size_t cell = (row / 16 * (padded / 8) + at / 8) * 16 + row % 16;
        ASSERT_EQ(nibble(bytes, cell * 4, at % 8), nibble(plain, row * row_bytes, at)) << n << " " << k;
      }
    }
    for (const std::byte byte : bytes) ones += byte != std::byte{0} ? 1 : 0;
    for (const std::byte byte : plain) wanted_ones += byte != std::byte{0} ? 1 : 0;
    EXPECT_EQ(ones, wanted_ones) << "zeros elsewhere";
    std::vector<std::byte> back(plain.size(), std::byte{0xee});
    unpack({"host.vnni8x16.v1"}, spec, bytes, back);
    EXPECT_EQ(back, plain);
  }
}

TEST(Layouts, PutEveryElementWhereTheirDefinitionSaysAndZerosElsewhere) {
  for_all([](const std::string& layout, const TensorSpec& spec) {
    const auto plain = counted(spec), bytes = packed(layout, spec, plain);
    const size_t step = static_cast<size_t>(bits(spec.dtype)) / 8;
    std::vector<std::byte> want(bytes.size());
    for (int64_t n = 0; n < spec.shape[0]; ++n) {
      for (int64_t k = 0; k < spec.shape[1]; ++k) {
        const size_t at = place(layout, spec, n, k) * step;
        ASSERT_LE(at + step, want.size()) << layout;
        std::memcpy(want.data() + at, plain.data() + static_cast<size_t>(n * spec.shape[1] + k) * step, step);
      }
    }
    EXPECT_EQ(bytes, want) << layout << " " << name(spec.dtype) << " " << spec.shape[0] << "×" << spec.shape[1];
  });
}

TEST(Layouts, ComeBackBitByBit) {
  for_all([](const std::string& layout, const TensorSpec& spec) {
    const auto plain = counted(spec), bytes = packed(layout, spec, plain);
    std::vector<std::byte> back(plain.size());
    unpack({layout}, spec, bytes, back);
    EXPECT_EQ(back, plain) << layout << " " << name(spec.dtype) << " " << spec.shape[0] << "×" << spec.shape[1];
  });
}

TEST(Layouts, KeepTheirBytesForEver) {
  // The bytes of a version must never change: packed weights may outlive the program that packed them.
  const TensorSpec spec = weights(DType::bf16, 2, 3);
  const auto plain = counted(spec);
  const auto elements = [&](const std::string& layout) {
    std::vector<uint16_t> all(packed_bytes({layout}, spec) / 2);
    const auto bytes = packed(layout, spec, plain);
    std::memcpy(all.data(), bytes.data(), bytes.size());
    return all;
  };
  const auto panels = elements("host.k16.v1"), pairs = elements("host.vnni2x16.v1"), blocks = elements("cuda.k64.v1");
  ASSERT_EQ(panels.size(), 3u * 16);
  EXPECT_THAT((std::vector{panels[0], panels[1], panels[16], panels[17], panels[32], panels[33]}),
              testing::ElementsAre(1, 4, 2, 5, 3, 6));
  ASSERT_EQ(pairs.size(), 32u * 16);
  EXPECT_THAT((std::vector{pairs[0], pairs[1], pairs[2], pairs[3], pairs[32], pairs[33], pairs[34], pairs[35]}),
              testing::ElementsAre(1, 2, 4, 5, 3, 0, 6, 0));
  ASSERT_EQ(blocks.size(), 64u * 8);
  EXPECT_THAT((std::vector{blocks[0], blocks[1], blocks[2], blocks[3], blocks[32], blocks[33], blocks[34]}),
              testing::ElementsAre(1, 2, 3, 0, 4, 5, 6));
}

TEST(Layouts, PlainTakesAnyTensor) {
  const TensorSpec spec{.dtype = DType::e2m1, .shape = {3, 5, 7}};
  EXPECT_EQ(packed_bytes({}, spec), spec.bytes());
  const std::vector<std::byte> plain(spec.bytes(), std::byte{0x5a});
  EXPECT_EQ(packed("plain", spec, plain), plain);
}

std::string refusal(const std::string& layout, const TensorSpec& spec) {
  try {
    packed_bytes({layout}, spec);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    return error.what();
  }
  return {};
}

TEST(Layouts, RefuseWhatTheyDoNotTake) {
  EXPECT_THAT(refusal("host.k16.v9", weights(DType::fp32, 4, 4)), HasSubstr("'host.k16.v9'"));
  EXPECT_THAT(refusal("mkl.pack@2026.2.0.t2", weights(DType::fp32, 4, 4)), HasSubstr("unknown layout"));
  EXPECT_THAT(refusal("host.vnni2x16.v1", weights(DType::fp32, 4, 4)), HasSubstr("fp32"));
  EXPECT_THAT(refusal("host.k16.v1", weights(DType::int8, 4, 4)), HasSubstr("int8"));
  EXPECT_THAT(refusal("host.k16.v1", {.dtype = DType::fp32, .shape = {2, 4, 4}}), HasSubstr("3 axes"));
}

TEST(Layouts, RefuseBuffersOfOtherSizes) {
  const TensorSpec spec = weights(DType::fp32, 4, 4);
  std::vector<std::byte> plain(spec.bytes()), bytes(packed_bytes({"host.k16.v1"}, spec));
  EXPECT_THROW(pack({"host.k16.v1"}, spec, std::span(plain).first(60), bytes), Error);
  EXPECT_THROW(pack({"host.k16.v1"}, spec, plain, std::span(bytes).first(bytes.size() - 1)), Error);
  EXPECT_THROW(unpack({"host.k16.v1"}, spec, plain, plain), Error);
}

}  // namespace
}  // namespace attune
