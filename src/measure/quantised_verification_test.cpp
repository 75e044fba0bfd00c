// SPDX-License-Identifier: MIT
// Verification finds kernels that read quantised operands wrongly, with the ops' own data, and passes right ones.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "device/fake/fake_device.h"
#include "measure/verification.h"
#include "ops/quantised_gemm/quantised_gemm.h"
#include "tensor/convert.h"

namespace attune {
namespace {

/// What a planted kernel does.
enum class QuantisedFault : uint8_t {
  none,              // sums each block in fp32
  scales_first,      // right: multiplies elements and scales in fp32 before the sum
  rounds_to_bf16,    // right of blocks: so do libraries, which have no blocks
  neighbours_scale,  // of the block before
  rows_for_columns,  // the scales of a in place of the scales of b
  scales_twice,
  nibbles_swapped,  // of b: of both matrices they would be another order of the sum
  last_block_dropped,
  other_flavour,     // e4m3fnuz as e4m3fn and the reverse
  codes_as_numbers,  // e8m0 read as a whole number
  sums_in_bf16,
  saturates,  // pairs of products at 16 bits
};

class PlantedQuantised final : public Plan {
 public:
  PlantedQuantised(const QuantisedGemm& shape, QuantisedFault fault) : shape_(shape), fault_(fault) {}
  const PlanTraits& traits() const noexcept override { return traits_; }

  void run(const Launch& enqueued) const override {
    const std::vector<void*> operands = FakeMemory::reach(enqueued.operands);
    const auto where = QuantisedOperands::of(shape_);
    const auto a = elements(operands[where.a], shape_.m, false), b = elements(operands[where.b], shape_.n, true);
    const auto a_scales = scales(operands[where.a_scale], shape_.a_scales, shape_.m);
    const auto b_scales = scales(operands[where.b_scale], shape_.b_scales, shape_.n);
    std::vector<float> bias(static_cast<size_t>(shape_.n));
    if (shape_.bias) to_float(shape_.out, static_cast<const std::byte*>(operands[where.bias]), bias);
    std::vector<float> c;
    for (int64_t i = 0; i < shape_.m; ++i) {
      for (int64_t j = 0; j < shape_.n; ++j)
        c.push_back(product(a, b, a_scales, b_scales, i, j) + bias[static_cast<size_t>(j)]);
    }
    from_float(shape_.out, c, static_cast<std::byte*>(operands[where.c]));
  }

 private:
  bool is(QuantisedFault fault) const { return fault_ == fault; }

  std::vector<float> elements(const void* stored, int64_t rows, bool is_b) const {
    DType type = shape_.in;
    if (is(QuantisedFault::other_flavour)) type = type == DType::e4m3fn ? DType::e4m3fnuz : DType::e4m3fn;
    const size_t k = static_cast<size_t>(shape_.k), bytes = stored_bytes(bits(type), k);
    std::vector<float> values(static_cast<size_t>(rows) * k);
    for (size_t row = 0; row < static_cast<size_t>(rows); ++row) {
      const auto* from = static_cast<const uint8_t*>(stored) + row * bytes;
      std::vector<uint8_t> codes(from, from + bytes);
      if (is(QuantisedFault::nibbles_swapped) && is_b) {
        for (uint8_t& code : codes) code = static_cast<uint8_t>(code >> 4 | code << 4);
      }
      to_float(type, reinterpret_cast<const std::byte*>(codes.data()), std::span(values).subspan(row * k, k));
    }
    return values;
  }
  std::vector<float> scales(const void* stored, const ScaleGroups& groups, int64_t rows) const {
    std::vector<float> values(static_cast<size_t>(groups.num_rows(rows) * groups.num_columns(shape_.k)));
    to_float(shape_.scale, static_cast<const std::byte*>(stored), values);
    if (is(QuantisedFault::codes_as_numbers)) {
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<const uint8_t*>(stored)[i];
    }
    return values;
  }

  int64_t last_whole_block() const { return shape_.k / shape_.a_scales.depth * shape_.a_scales.depth; }

  float product(const std::vector<float>& a, const std::vector<float>& b, const std::vector<float>& a_scales,
                const std::vector<float>& b_scales, int64_t i, int64_t j) const {
    const int64_t depth = shape_.has_blocks() ? shape_.a_scales.depth : shape_.k;
    const int64_t end = is(QuantisedFault::last_block_dropped) ? last_whole_block() : shape_.k;
    float all = 0;
    for (int64_t first = 0; first < end; first += depth) {
      const int64_t read = is(QuantisedFault::neighbours_scale) ? std::max<int64_t>(0, first - depth) : first;
      const float of_a = a_scales[static_cast<size_t>(shape_.a_scales.index(i, read, shape_.k))];
      float of_b = b_scales[static_cast<size_t>(shape_.b_scales.index(j, read, shape_.k))];
      if (is(QuantisedFault::rows_for_columns))
        of_b = a_scales[static_cast<size_t>(shape_.a_scales.index(j % shape_.m, read, shape_.k))];
      if (is(QuantisedFault::scales_twice)) of_b *= of_b;
      float sum = 0;
      int32_t pair = 0;
      for (int64_t at = first; at < std::min(end, first + depth); ++at) {
        float x = a[static_cast<size_t>(i * shape_.k + at)], w = b[static_cast<size_t>(j * shape_.k + at)];
        if (is(QuantisedFault::saturates)) {
          // As with vpmaddubsw, whose first factor is unsigned: a is shifted by 128, and the excess is subtracted.
          pair += (static_cast<int32_t>(x) + 128) * static_cast<int32_t>(w);
          sum -= 128 * w;
          if (at % 2 == 0 && at + 1 < end) continue;
          sum += static_cast<float>(std::clamp(pair, -32768, 32767));
          pair = 0;
          continue;
        }
        if (is_scaled_first()) {
          x *= of_a;
          w *= of_b;
        }
        if (is(QuantisedFault::rounds_to_bf16)) {
          x = from_bf16(to_bf16(x));
          w = from_bf16(to_bf16(w));
        }
        sum += x * w;
        if (is(QuantisedFault::sums_in_bf16)) sum = from_bf16(to_bf16(sum));
      }
      all += is_scaled_first() ? sum : sum * of_a * of_b;
      if (is(QuantisedFault::sums_in_bf16)) all = from_bf16(to_bf16(all));
    }
    return all;
  }
  bool is_scaled_first() const { return is(QuantisedFault::scales_first) || is(QuantisedFault::rounds_to_bf16); }

  QuantisedGemm shape_;
  QuantisedFault fault_;
  PlanTraits traits_;
};

Finding found_in(const std::string& text, QuantisedFault fault) {
  const Problem asked = Problem::parse(text);
  const Op& op = op_of(asked);
  const Problem problem = op.normalise(asked, {});
  FakeDevice device;
  ReferenceCache references(device, op, problem, 42);
  const PlantedQuantised plan(QuantisedGemm::of(problem), fault);
  return Verification(device, op, problem, references)
      .verify(plan.traits(), [&](const Launch& launch) { plan.run(launch); }, {.twice = true});
}

std::vector<std::string> problems_of(const char* op, std::initializer_list<const char*> rest) {
  std::vector<std::string> all;
  for (const char* size : {"m=17 n=34 k=289", "m=1 n=140 k=300", "m=24 n=9 k=700", "m=2 n=130 k=1025"}) {
    for (const char* one : rest) all.push_back(fmt::format("{} {} {}", op, size, one));
  }
  return all;
}
std::vector<std::string> fp8_blocks() {
  return problems_of("gemm_a8w8_blockscale", {"", "q_dtype_w=e4m3fnuz outdtype=fp16"});
}
std::vector<std::string> mxfp4() { return problems_of("gemm_a4w4_blockscale", {"", "outdtype=fp16"}); }
std::vector<std::string> rows() {
  return problems_of("gemm_a8w8", {"", "bias=1 outdtype=fp16", "q_dtype_w=e4m3fn", "q_dtype_w=e4m3fnuz bias=1"});
}
std::vector<std::string> joined(std::initializer_list<std::vector<std::string>> parts) {
  std::vector<std::string> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

void expect_caught(const std::vector<std::string>& problems, QuantisedFault fault) {
  for (const std::string& text : problems)
    EXPECT_EQ(found_in(text, fault).status, Status::wrong_result) << text << " " << static_cast<int>(fault);
}

TEST(QuantisedVerification, PassesRightKernels) {
  for (const std::string& text : joined({rows(), fp8_blocks(), mxfp4()})) {
    for (const auto fault : {QuantisedFault::none, QuantisedFault::scales_first}) {
      const Finding found = found_in(text, fault);
      EXPECT_EQ(found.status, Status::ok) << text << " " << static_cast<int>(fault) << ": " << found.detail;
    }
  }
}

/// The way of a library without blocks. Elements and scales of MXFP4 are exact in bf16.
TEST(QuantisedVerification, PassesBlocksThatAreRoundedToBf16) {
  for (const std::string& text : joined({fp8_blocks(), mxfp4()})) {
    const Finding found = found_in(text, QuantisedFault::rounds_to_bf16);
    EXPECT_EQ(found.status, Status::ok) << text << ": " << found.detail;
  }
}

TEST(QuantisedVerification, CatchesTheScaleOfAnotherBlock) {
  expect_caught(joined({fp8_blocks(), mxfp4()}), QuantisedFault::neighbours_scale);
}

TEST(QuantisedVerification, CatchesScalesOfTheOtherMatrix) {
  expect_caught(joined({rows(), fp8_blocks(), mxfp4()}), QuantisedFault::rows_for_columns);
}

TEST(QuantisedVerification, CatchesAScaleThatIsAppliedTwice) {
  expect_caught(joined({rows(), fp8_blocks(), mxfp4()}), QuantisedFault::scales_twice);
}

TEST(QuantisedVerification, CatchesSwappedHalvesOfBytes) { expect_caught(mxfp4(), QuantisedFault::nibbles_swapped); }

TEST(QuantisedVerification, CatchesAMissingPartialBlock) {
  expect_caught(joined({fp8_blocks(), mxfp4()}), QuantisedFault::last_block_dropped);
}

TEST(QuantisedVerification, CatchesTheOtherFlavourOfFp8) {
  expect_caught(joined({fp8_blocks(), problems_of("gemm_a8w8", {"q_dtype_w=e4m3fn", "q_dtype_w=e4m3fnuz"})}),
                QuantisedFault::other_flavour);
}

TEST(QuantisedVerification, CatchesExponentsReadAsNumbers) { expect_caught(mxfp4(), QuantisedFault::codes_as_numbers); }

TEST(QuantisedVerification, CatchesSumsInBf16) {
  expect_caught(joined({rows(), fp8_blocks(), mxfp4()}), QuantisedFault::sums_in_bf16);
}

TEST(QuantisedVerification, CatchesPairsThatSaturateAtSixteenBits) {
  expect_caught(problems_of("gemm_a8w8", {"", "scale=tensor"}), QuantisedFault::saturates);
}

}  // namespace
}  // namespace attune
