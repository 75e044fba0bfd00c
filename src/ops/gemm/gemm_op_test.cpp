// SPDX-License-Identifier: MIT
#include "ops/gemm/gemm_op.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "attune/error.h"
#include "tensor/convert.h"

namespace attune {
namespace {

Problem normal(const std::string& text) { return op_of(Problem::parse(text)).normalise(Problem::parse(text), {}); }

struct Operands {
  std::vector<std::vector<std::byte>> bytes;
  HostTensors host;
  explicit Operands(const Problem& problem, Distribution distribution = Distribution::normal) {
    const Op& op = op_of(problem);
    for (const auto& tensor : op.tensors(problem)) bytes.emplace_back(tensor.bytes());
    for (auto& one : bytes) host.operands.emplace_back(one);
    op.fill(problem, distribution, 7, host);
  }
};

Reference reference(const Problem& problem, Path path, const Operands& operands) {
  return whole_reference(op_of(problem), problem, path, operands.host);
}

}  // namespace

TEST(GemmOp, NormalisesToOneSpelling) {
  EXPECT_EQ(normal("gemm_a16w16 k=3 n=2 m=1 dtype=torch.bfloat16").key(),
            "gemm_a16w16 m=1 n=2 k=3 dtype=bf16 outdtype=bf16 bias=0");
  EXPECT_EQ(normal("gemm_a16w16 m=1 n=2 k=3 dtype=f32 bias=True trans_b=0 trans_a=0").key(),
            "gemm_a16w16 m=1 n=2 k=3 dtype=fp32 outdtype=fp32 bias=1 trans_b=0");
}

TEST(GemmOp, RefusesWhatItDoesNotKnow) {
  for (const char* text :
       {"gemm_a16w16 m=1 n=2", "gemm_a16w16 m=0 n=2 k=3", "gemm_a16w16 m=-1 n=2 k=3",
        "gemm_a16w16 m=99999999999 n=2 k=3", "gemm_a16w16 m=1 n=2 k=3 dtype=int8", "gemm_a16w16 m=1 n=2 k=3 bias=2",
        "gemm_a16w16 m=1 n=2 k=3 colour=red", "gemm_a16w16 m=1 n=2 k=3 bpreshuffle=1 trans_b=0", "conv2 m=1"}) {
    EXPECT_THROW(normal(text), Error) << text;
  }
}

TEST(GemmOp, CountsFlopsAndBytes) {
  const auto work = GemmOp().work(normal("gemm_a16w16 m=2 n=3 k=5 dtype=bf16 outdtype=fp32 bias=1"));
  EXPECT_EQ(work.flops, 60);
  EXPECT_EQ(work.bytes, 2 * 5 * 2 + 3 * 5 * 2 + 3 * 2 + 2 * 3 * 4);
}

TEST(GemmOp, MultipliesInTheTypeOfItsInputs) {
  const auto arithmetic = [](const std::string& types) {
    return GemmOp().work(normal("gemm_a16w16 m=2 n=3 k=5 " + types)).arithmetic;
  };
  EXPECT_EQ(arithmetic("dtype=bf16 outdtype=fp32"), DType::bf16);
  EXPECT_EQ(arithmetic("dtype=fp16 outdtype=bf16"), DType::fp16);
  EXPECT_EQ(arithmetic("dtype=fp32 outdtype=bf16"), DType::fp32);
}

TEST(GemmOp, BothReferencesAgreeForEveryTypeAndLayout) {
  for (const char* text :
       {"m=5 n=7 k=19 dtype=fp32", "m=4 n=8 k=16 dtype=bf16 bias=1", "m=1 n=9 k=33 dtype=fp16 trans_a=1",
        "m=6 n=270 k=1100 dtype=fp32 trans_b=0", "m=3 n=5 k=1 dtype=bf16 outdtype=fp32 trans_a=1 trans_b=0"}) {
    const auto problem = normal(std::string("gemm_a16w16 ") + text);
    const Operands operands(problem);
    const auto slow = reference(problem, Path::naive, operands), fast = reference(problem, Path::fast, operands);
    for (size_t i = 0; i < slow.values.size(); ++i) {
      ASSERT_NEAR(slow.values[i], fast.values[i], 1e-12 * (1 + std::abs(slow.scales[i]))) << text << " element " << i;
      ASSERT_NEAR(slow.scales[i], fast.scales[i], 1e-9 * slow.scales[i]) << text << " element " << i;
    }
  }
}

TEST(GemmOp, FillsSignedDataThatIsTheSameEverywhere) {
  const auto problem = normal("gemm_a16w16 m=64 n=64 k=64 dtype=fp32");
  const Operands operands(problem), again(problem);
  EXPECT_EQ(operands.bytes, again.bytes);
  std::vector<float> values(64 * 64);
  to_float(DType::fp32, operands.bytes[0].data(), values);
  double sum = 0, squares = 0;
  for (const float v : values) sum += v, squares += v * v;
  EXPECT_NEAR(sum / 4096, 0, 0.05);
  EXPECT_NEAR(squares / 4096, 1, 0.05);
  EXPECT_FLOAT_EQ(values[0], 2.0411453f);
  const Operands whole(problem, Distribution::integers);
  to_float(DType::fp32, whole.bytes[1].data(), values);
  EXPECT_THAT(values, testing::Each(testing::Truly([](float v) { return v == std::round(v) && std::abs(v) <= 4; })));
}

/// The error of summing in fp32, term by term, is a fraction of the bound; ten times that error exceeds it.
TEST(GemmOp, TheErrorBoundIsNearWhatSummingInFp32Errs) {
  for (const int k : {64, 1024, 16384}) {
    const auto problem = normal(fmt::format("gemm_a16w16 m=16 n=16 k={} dtype=fp32", k));
    const Operands operands(problem);
    const Reference exact = reference(problem, Path::fast, operands);
    std::vector<float> a(16 * static_cast<size_t>(k)), b(a.size());
    to_float(DType::fp32, operands.bytes[0].data(), a);
    to_float(DType::fp32, operands.bytes[1].data(), b);
    double largest = 0;
    for (size_t i = 0; i < 256; ++i) {
      const auto step = static_cast<size_t>(k);
      volatile float sum = 0;  // volatile forces this order and this type on the compiler.
      for (size_t j = 0; j < step; ++j) sum = sum + a[i / 16 * step + j] * b[i % 16 * step + j];
      largest = std::max(largest, std::abs(sum - exact.values[i]) / exact.scales[i]);
    }
    const double bound = GemmOp().tolerance(problem).max_relative;
    EXPECT_LT(largest, bound) << k;
    EXPECT_GT(10 * largest, bound / 2) << k;
  }
}

/// Adds as matrix units of GPUs do: 16 products exactly, then the sum is truncated to fp32.
float truncated_sum(std::span<const float> a, std::span<const float> b) {
  float sum = 0;
  for (size_t begin = 0; begin < a.size(); begin += 16) {
    double exact = sum;
    for (size_t k = begin; k < begin + 16; ++k) exact += static_cast<double>(a[k]) * b[k];
    sum = static_cast<float>(exact);
    if (std::abs(static_cast<double>(sum)) > std::abs(exact)) sum = std::nextafter(sum, 0.0f);
  }
  return sum;
}

TEST(GemmOp, TheErrorBoundOfNarrowTypesAllowsTruncatedSums) {
  for (const int k : {64, 1024, 16384}) {
    const auto problem = normal(fmt::format("gemm_a16w16 m=16 n=16 k={} dtype=bf16 outdtype=fp32", k));
    const Operands operands(problem);
    const Reference exact = reference(problem, Path::fast, operands);
    const auto step = static_cast<size_t>(k);
    std::vector<float> a(16 * step), b(a.size());
    to_float(DType::bf16, operands.bytes[0].data(), a);
    to_float(DType::bf16, operands.bytes[1].data(), b);
    double largest = 0;
    for (size_t i = 0; i < 256; ++i) {
      const float sum =
          truncated_sum(std::span(a).subspan(i / 16 * step, step), std::span(b).subspan(i % 16 * step, step));
      largest = std::max(largest, std::abs(sum - exact.values[i]) / exact.scales[i]);
    }
    const double bound = GemmOp().tolerance(problem).max_relative;
    EXPECT_LT(3 * largest, bound) << k << ": among millions the worst is about three times as far off";
    EXPECT_GT(100 * largest, bound) << k;
  }
}

TEST(Families, AreFoundByNameAndByOldJobName) {
  ASSERT_NE(find_family("ck_gemm_a8w8"), nullptr);
  EXPECT_EQ(find_family("ck_gemm_a8w8")->op, "gemm_a8w8");
  EXPECT_TRUE(find_family("gemm_a16w16")->tunable);
  EXPECT_FALSE(find_family("fmoe")->tunable);
  EXPECT_EQ(find_family("nothing"), nullptr);
}

}  // namespace attune
