// SPDX-License-Identifier: MIT
#include "ops/quantised_gemm/quantised_gemm_op.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "attune/error.h"
#include "ops/quantised_gemm/quantised_gemm.h"

namespace attune {
namespace {

Problem problem_of(const std::string& attributes) {
  const Problem problem = Problem::parse("gemm_a8w8 " + attributes);
  return op_of(problem).normalise(problem, {});
}

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

TEST(QuantisedGemm, BothReferencesAgreeForEverySample) {
  for (const std::string_view text : find_family("gemm_a8w8")->samples) {
    for (const Distribution distribution : {Distribution::normal, Distribution::integers}) {
      const Call call(problem_of(std::string(text)), distribution);
      const Reference slow = call.reference(Path::naive), fast = call.reference(Path::fast);
      for (size_t i = 0; i < slow.values.size(); ++i) {
        ASSERT_NEAR(slow.values[i], fast.values[i], 1e-12 * (1 + slow.scales[i])) << text << " element " << i;
        ASSERT_NEAR(slow.scales[i], fast.scales[i], 1e-9 * slow.scales[i]) << text << " element " << i;
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

TEST(QuantisedGemm, ANanOfEightBitsReachesExactlyWhatReadsIt) {
  Call call(problem_of("m=3 n=4 k=8 q_dtype_w=e4m3fn"));
  call.element(0, 8 + 2) = 0x7f;  // Row 1 of a.
  for (const Path path : {Path::naive, Path::fast}) {
    const Reference reference = call.reference(path);
    for (size_t i = 0; i < 12; ++i) EXPECT_EQ(std::isnan(reference.values[i]), i / 4 == 1) << i;
  }
}

}  // namespace
}  // namespace attune
