// SPDX-License-Identifier: MIT
#include "ops/quantised_gemm/quantised_gemm_op.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "attune/error.h"
#include "ops/quantised_gemm/quantised_gemm.h"
#include "tensor/convert.h"

namespace attune {
namespace {

Problem problem_in(const std::string& text, const DeviceInfo& device = {}) {
  const Problem problem = Problem::parse(text);
  return op_of(problem).normalise(problem, device);
}
Problem problem_of(const std::string& attributes) { return problem_in("gemm_a8w8 " + attributes); }

struct Call {
  explicit Call(const Problem& its_problem, Distribution distribution = Distribution::normal)
      : problem(its_problem), op(op_of(problem)) {
    for (const TensorSpec& tensor : op.tensors(problem)) bytes.emplace_back(tensor.bytes());
    for (auto& one : bytes) host.operands.emplace_back(one);
    op.fill(problem, distribution, 7, host);
  }
  Reference reference(Path path) const { return whole_reference(op, problem, path, host); }
  int8_t& element(size_t operand, size_t index) { return reinterpret_cast<int8_t*>(bytes[operand].data())[index]; }
  float& scale(size_t operand, size_t index) { return reinterpret_cast<float*>(bytes[operand].data())[index]; }

  Problem problem;
  const Op& op;
  std::vector<std::vector<std::byte>> bytes;
  HostTensors host;
};

TEST(QuantisedGemm, NormalisesToOneSpelling) {
  EXPECT_EQ(problem_of("k=3 n=2 m=1").key(), "gemm_a8w8 m=1 n=2 k=3 q_dtype_w=int8");
  EXPECT_EQ(problem_of("m=1 n=2 k=3 q_dtype_w=torch.int8 outdtype=float16 bias=True scale=TENSOR").key(),
            "gemm_a8w8 m=1 n=2 k=3 q_dtype_w=int8 outdtype=fp16 bias=1 scale=tensor");
  EXPECT_EQ(problem_of("m=1 n=2 k=3 outdtype=bf16 bias=0 scale=row").key(), "gemm_a8w8 m=1 n=2 k=3 q_dtype_w=int8");
  for (const char* text : {"m=1 n=2", "m=0 n=2 k=3", "m=1 n=2 k=3 q_dtype_w=bf16", "m=1 n=2 k=3 outdtype=fp32",
                           "m=1 n=2 k=3 scale=block", "m=1 n=2 k=3 act=relu"})
    EXPECT_THROW(problem_of(text), Error) << text;
}

TEST(QuantisedGemm, CountsTheScalesAndTheBias) {
  const Call call(problem_of("m=2 n=3 k=5 bias=1"));
  const Work work = call.op.work(call.problem);
  EXPECT_EQ(work.flops, 60);
  EXPECT_EQ(work.bytes, 2 * 5 + 3 * 5 + 2 * 4 + 3 * 4 + 3 * 2 + 2 * 3 * 2);
  EXPECT_EQ(work.arithmetic, DType::int8);
}

TEST(QuantisedGemm, Fp8OfBlocksIsThatOfTheDevice) {
  DeviceInfo cdna3;
  cdna3.gfx = "gfx942";
  EXPECT_EQ(problem_in("gemm_a8w8_blockscale k=3 n=2 m=1").key(), "gemm_a8w8_blockscale m=1 n=2 k=3 q_dtype_w=e4m3fn");
  EXPECT_EQ(problem_in("gemm_a8w8_blockscale m=1 n=2 k=3", cdna3).key(),
            "gemm_a8w8_blockscale m=1 n=2 k=3 q_dtype_w=e4m3fnuz");
  EXPECT_EQ(problem_in("gemm_a8w8_blockscale m=1 n=2 k=3 q_dtype_w=e4m3fn outdtype=fp16", cdna3).key(),
            "gemm_a8w8_blockscale m=1 n=2 k=3 q_dtype_w=e4m3fn outdtype=fp16");
  for (const char* text : {"q_dtype_w=int8", "q_dtype_w=e5m2", "bias=1", "scale=row", "outdtype=fp32"})
    EXPECT_THROW(problem_in(std::string("gemm_a8w8_blockscale m=1 n=2 k=3 ") + text), Error) << text;
}

TEST(QuantisedGemm, Mxfp4StatesNoTypeOfItsInputs) {
  EXPECT_EQ(problem_in("gemm_a4w4_blockscale m=1 n=2 k=3 outdtype=bf16 bpreshuffle=0").key(),
            "gemm_a4w4_blockscale m=1 n=2 k=3");
  EXPECT_EQ(problem_in("gemm_a4w4_blockscale m=1 n=2 k=3 bpreshuffle=True outdtype=torch.float16").key(),
            "gemm_a4w4_blockscale m=1 n=2 k=3 outdtype=fp16 bpreshuffle=1");
  EXPECT_THROW(problem_in("gemm_a4w4_blockscale m=1 n=2 k=3 q_dtype_w=e2m1"), Error);
}

TEST(QuantisedGemm, PartialBlocksHaveScalesAndOddRowsAWholeByte) {
  const auto shapes = [](const std::string& text) {
    const Problem problem = problem_in(text);
    std::vector<std::vector<int64_t>> all;
    for (const TensorSpec& tensor : op_of(problem).tensors(problem)) all.push_back(tensor.shape);
    return all;
  };
  using testing::ElementsAre;
  EXPECT_THAT(shapes("gemm_a8w8_blockscale m=3 n=129 k=257"),
              ElementsAre(ElementsAre(3, 257), ElementsAre(129, 257), ElementsAre(3, 3), ElementsAre(2, 3),
                          ElementsAre(3, 129)));
  EXPECT_THAT(
      shapes("gemm_a4w4_blockscale m=3 n=5 k=33"),
      ElementsAre(ElementsAre(3, 33), ElementsAre(5, 33), ElementsAre(3, 2), ElementsAre(5, 2), ElementsAre(3, 5)));
  const Problem odd = problem_in("gemm_a4w4_blockscale m=3 n=5 k=33");
  EXPECT_EQ(op_of(odd).work(odd).bytes, (3 + 5) * 17 + (3 + 5) * 2 + 3 * 5 * 2);
}

constexpr const char* kFamilies[] = {"gemm_a8w8", "gemm_a8w8_blockscale", "gemm_a4w4_blockscale"};

TEST(QuantisedGemm, BothReferencesAgreeForEverySample) {
  for (const char* op : kFamilies) {
    for (const std::string_view sample : find_family(op)->samples) {
      const std::string text = std::string(op) + " " + std::string(sample);
      for (const Distribution distribution : {Distribution::normal, Distribution::integers}) {
        const Call call(problem_in(text), distribution);
        const Reference slow = call.reference(Path::naive), fast = call.reference(Path::fast);
        for (size_t i = 0; i < slow.values.size(); ++i) {
          ASSERT_NEAR(slow.values[i], fast.values[i], 1e-12 * (1 + slow.scales[i])) << text << " element " << i;
          ASSERT_NEAR(slow.scales[i], fast.scales[i], 1e-9 * slow.scales[i]) << text << " element " << i;
        }
      }
    }
  }
}

TEST(QuantisedGemm, TakesTheScaleOfTheRowOrOfTheMatrix) {
  Call rows(problem_of("m=2 n=2 k=1")), matrices(problem_of("m=2 n=2 k=1 scale=tensor"));
  for (Call* call : {&rows, &matrices}) {
    for (size_t i = 0; i < 2; ++i) call->element(0, i) = call->element(1, i) = 1;
  }
  for (size_t i = 0; i < 2; ++i) {
    rows.scale(2, i) = static_cast<float>(2 + i);
    rows.scale(3, i) = static_cast<float>(5 + 2 * i);
  }
  matrices.scale(2, 0) = 3;
  matrices.scale(3, 0) = 5;
  EXPECT_THAT(rows.reference(Path::naive).values, testing::ElementsAre(10, 14, 15, 21));
  EXPECT_THAT(matrices.reference(Path::fast).values, testing::Each(15));
}

TEST(QuantisedGemm, TakesTheScalesOfBlocks) {
  // Blocks of one row of a, and of 128 of b; the second block of K has one element.
  Call call(problem_in("gemm_a8w8_blockscale m=2 n=129 k=129"));
  for (const size_t operand : {size_t{0}, size_t{1}}) std::ranges::fill(call.bytes[operand], std::byte{0x38});  // 1
  const float of_a[] = {1, 2, 3, 5}, of_b[] = {7, 11, 13, 17};
  for (size_t i = 0; i < 4; ++i) {
    call.scale(2, i) = of_a[i];
    call.scale(3, i) = of_b[i];
  }
  for (const Path path : {Path::naive, Path::fast}) {
    const auto values = call.reference(path).values;
    EXPECT_EQ(values[0], 128 * 1 * 7 + 2 * 11);
    EXPECT_EQ(values[127], values[0]);
    EXPECT_EQ(values[128], 128 * 1 * 13 + 2 * 17);
    EXPECT_EQ(values[129], 128 * 3 * 7 + 5 * 11);
  }
}

TEST(QuantisedGemm, TheFirstOfTwoHalvesIsTheLowOneAndScalesAreExponents) {
  Call call(problem_in("gemm_a4w4_blockscale m=1 n=1 k=33"));
  for (const size_t operand : {size_t{0}, size_t{1}}) std::ranges::fill(call.bytes[operand], std::byte{0});
  call.bytes[0] = call.bytes[1] = std::vector<std::byte>(17);
  call.bytes[0][0] = std::byte{0x42};   // 1, 2
  call.bytes[1][0] = std::byte{0xd5};   // 3, −3
  call.bytes[0][16] = std::byte{0x77};  // 6, and what pads the row
  call.bytes[1][16] = std::byte{0x71};  // 0.5
  for (size_t i = 0; i < 2; ++i) call.host.operands[i] = call.bytes[i];
  call.bytes[2] = {std::byte{127}, std::byte{0}};    // 1, 2^−127
  call.bytes[3] = {std::byte{129}, std::byte{254}};  // 4, 2^127
  for (size_t i = 2; i < 4; ++i) call.host.operands[i] = call.bytes[i];
  for (const Path path : {Path::naive, Path::fast})
    EXPECT_EQ(call.reference(path).values[0], (1 * 3 + 2 * -3) * 4 + 6 * 0.5);
  call.bytes[2][1] = std::byte{255};
  EXPECT_TRUE(std::isnan(call.reference(Path::naive).values[0]) && std::isnan(call.reference(Path::fast).values[0]));
}

/// A kernel that keeps two products in 16 bits is wrong in the last row and column.
TEST(QuantisedGemm, TestDataExceedSixteenBits) {
  Call call(problem_of("m=3 n=4 k=64"));
  bool exceeds = false;
  for (size_t at = 0; at < 64; at += 2) {
    const int sum = call.element(0, 2 * 64 + at) * call.element(1, 3 * 64 + at) +
                    call.element(0, 2 * 64 + at + 1) * call.element(1, 3 * 64 + at + 1);
    exceeds = exceeds || std::abs(sum) > INT16_MAX - 1024;
  }
  EXPECT_TRUE(exceeds);
}

TEST(QuantisedGemm, ResultsOfInt8TestDataFitTheirType) {
  for (const char* text : {"m=40 n=40 k=1", "m=40 n=40 k=4096 outdtype=fp16", "m=40 n=40 k=999 bias=1"}) {
    for (const Distribution distribution : {Distribution::normal, Distribution::integers}) {
      const Call call(problem_of(text), distribution);
      for (const double value : call.reference(Path::fast).values) ASSERT_LT(std::abs(value), 65504) << text;
    }
  }
}

TEST(QuantisedGemm, ResultsOfBlocksAreAboutOneWhateverKIs) {
  for (const char* text :
       {"gemm_a8w8_blockscale m=20 n=40 k=700", "gemm_a8w8_blockscale m=20 n=40 k=4000 outdtype=fp16",
        "gemm_a4w4_blockscale m=20 n=40 k=200", "gemm_a4w4_blockscale m=20 n=40 k=4000"}) {
    for (const Distribution distribution : {Distribution::normal, Distribution::integers}) {
      auto values = Call(problem_in(text), distribution).reference(Path::fast).values;
      for (double& value : values) value = std::abs(value);
      // The largest numbers of the types meet in few of them.
      std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
      const double median = values[values.size() / 2];
      EXPECT_TRUE(median > 0.1 && median < 5) << text << " " << median;
    }
  }
}

TEST(QuantisedGemm, ANanReachesExactlyWhatReadsIt) {
  for (const char* op : {"gemm_a8w8", "gemm_a8w8_blockscale"}) {
    Call call(problem_in(std::string(op) + " m=3 n=4 k=8 q_dtype_w=e4m3fn"));
    call.element(0, 8 + 2) = 0x7f;  // Row 1 of a.
    for (const Path path : {Path::naive, Path::fast}) {
      const Reference reference = call.reference(path);
      for (size_t i = 0; i < 12; ++i) EXPECT_EQ(std::isnan(reference.values[i]), i / 4 == 1) << i;
    }
  }
}

/// Verification writes these values; columns and rows without them must remain numbers.
TEST(QuantisedGemm, SpecialValuesAreInFewRowsAndColumns) {
  for (const char* op : kFamilies) {
    for (const char* rest : {"m=20 n=40 k=70", "m=40 n=20 k=33", "m=1 n=200 k=200"}) {
      Call call(problem_in(std::string(op) + " " + rest), Distribution::integers);
      const auto specs = call.op.tensors(call.problem);
      const auto special = call.op.special_values(call.problem);
      EXPECT_FALSE(special.empty() && std::string(op) != "gemm_a8w8_blockscale") << op;
      for (const SpecialValue& one : special) {
        from_float(specs[one.operand].dtype, std::span(&one.value, 1),
                   call.bytes[one.operand].data() + one.index * bits(specs[one.operand].dtype) / 8);
      }
      const auto slow = call.reference(Path::naive).values, fast = call.reference(Path::fast).values;
      size_t num_nan = 0;
      for (size_t i = 0; i < slow.size(); ++i) {
        EXPECT_EQ(std::isnan(slow[i]), std::isnan(fast[i]));
        num_nan += std::isnan(slow[i]) ? 1 : 0;
      }
      EXPECT_TRUE(special.empty() || num_nan > 0) << op;
      EXPECT_LE(num_nan, slow.size() / 2) << op << " " << rest;
    }
  }
}

}  // namespace
}  // namespace attune
