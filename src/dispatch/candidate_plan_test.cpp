// SPDX-License-Identifier: MIT
// Candidates that the caller names, without a table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "testing/dispatcher_fixture.h"

namespace attune {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// Runs candidates on a 2×2 product of ones and twos with k = 16.
class CandidateRun : public DispatcherTest {
 protected:
  static constexpr const char* kProblem = "gemm_a16w16 m=2 n=2 k=16 dtype=fp32";
  /// Returns the error's code and sentence; empty if it ran with the expected result.
  std::string run(std::string_view candidate, std::string_view problem = kProblem, size_t num_operands = 3) {
    c_.fill(0);
    const std::array<void*, 5> operands = {a_.data(), b_.data(), c_.data(), c_.data(), c_.data()};
    try {
      dispatcher().run_candidate(problem, candidate, std::span(operands).first(num_operands));
    } catch (const Error& error) {
      EXPECT_THAT(c_, testing::Each(0.0F)) << "what is refused is not run";
      return fmt::format("{}: {}", name(error.code()), error.what());
    }
    EXPECT_THAT(c_, testing::Each(32.0F));
    return {};
  }
  alignas(16) std::array<float, 32> a_ = filled(1);
  alignas(16) std::array<float, 32> b_ = filled(2);
  alignas(16) std::array<float, 4> c_{};

 private:
  static std::array<float, 32> filled(float value) {
    std::array<float, 32> all{};
    all.fill(value);
    return all;
  }
};

TEST_F(CandidateRun, RunsWhatItIsGivenWhateverTheTablesSay) {
  write(row(2, "gone.gemm@1:a=1"));
  EXPECT_EQ(run(kGood), "");
  EXPECT_EQ(run(kOther), "");
  EXPECT_EQ(dispatcher().counts().plans, 2u);
  EXPECT_EQ(run(kGood, "gemm_a16w16 dtype=fp32 k=16 n=2 m=2 bias=0"), "");
  EXPECT_EQ(run("fake.gemm@1:tile_n=32;tile_m=32;split_k=1"), "");
  EXPECT_EQ(dispatcher().counts().plans, 2u) << "the same problem and candidate, written otherwise";
  EXPECT_EQ(dispatcher().counts().calls, 0u);
}

TEST_F(CandidateRun, RunsWhenNoPlanIsKept) {
  write("");
  options_.max_plan_bytes = 0;
  for (const char* candidate : {kGood, kOther, kOther, kGood}) EXPECT_EQ(run(candidate), "");
  EXPECT_EQ(dispatcher().counts().plans, 0u);
  EXPECT_EQ(dispatcher().counts().evicted_plans, 4u);
}

TEST_F(CandidateRun, WrongTextsAndConfigsAreInvalid) {
  write("");
  const auto invalid = [](const char* says) { return AllOf(testing::StartsWith("invalid_input"), HasSubstr(says)); };
  EXPECT_THAT(run("_ZN5aiter4gemmE"), invalid("solver@version:config"));
  EXPECT_THAT(run(""), invalid("solver@version:config"));
  EXPECT_THAT(run("fake.gemm@1:split_k=1;tile_m=17;tile_n=32"), invalid("tile_m"));
  EXPECT_THAT(run("fake.gemm@1:split_k=1;tile_m=32"), invalid("the solver does not offer this config"));
  EXPECT_THAT(run("fake.gemm@1:split_k=1;tile_m=128;tile_n=128"), invalid("does not fit the registers"));
  EXPECT_THAT(run(kGood, "gemm_a16w16 m=2 n=2"), invalid("'k'"));
  EXPECT_THAT(run(kGood, "gemm_x m=2"), invalid("gemm_x"));
  EXPECT_THAT(run(kGood, ""), invalid(""));
  EXPECT_THAT(run(kGood, kProblem, 2), invalid("3 operands (a, b, c), got 2"));
  EXPECT_THAT(run(kGood, kProblem, 4), invalid("3 operands (a, b, c), got 4"));
  EXPECT_THAT(run(kGood, "gemm_a16w16 m=2 n=2 k=16 dtype=fp32 bias=1"), invalid("4 operands (a, b, bias, c), got 3"));
}

TEST_F(CandidateRun, WhatIsNotHereIsUnavailable) {
  write("");
  const auto unavailable = [](const char* says) { return AllOf(testing::StartsWith("unavailable"), HasSubstr(says)); };
  EXPECT_THAT(run("gone.gemm@1:a=1"), unavailable("gone.gemm"));
  EXPECT_THAT(run("fake.gemm@2:split_k=1;tile_m=32;tile_n=32"),
              unavailable("made with fake.gemm 2, this machine has 1"));
  EXPECT_EQ(dispatcher().counts().plans, 0u);
}

TEST_F(CandidateRun, PlainWeightsRunNoKernelOfPackedOnes) {
  write("");
  const std::string packed = "fake.gemm@1:b_layout=host.k16.v1;split_k=1;tile_m=32;tile_n=32";
  const std::string problem = std::string(kProblem) + " bpreshuffle=1";
  EXPECT_THAT(run(packed), HasSubstr("its kernel reads weights in the layout 'host.k16.v1', not in 'plain'"));
  EXPECT_THAT(run(packed, problem), HasSubstr("its kernel reads weights in the layout 'host.k16.v1', not in 'plain'"));
  EXPECT_EQ(run("fake.gemm@1:b_layout=plain;split_k=1;tile_m=32;tile_n=32", problem), "");
}

TEST_F(CandidateRun, OperandsAreThoseOfTheProblem) {
  write("");
  const auto specs = dispatcher().operands("gemm_a16w16 m=2 n=3 k=4 dtype=fp16 outdtype=fp32 bias=1 trans_a=1");
  ASSERT_EQ(specs.size(), 4u);
  EXPECT_THAT(specs[0].shape, ElementsAre(4, 2));
  EXPECT_THAT(specs[1].shape, ElementsAre(3, 4));
  EXPECT_THAT(specs[2].shape, ElementsAre(3));
  EXPECT_EQ(specs[2].dtype, DType::fp16);
  EXPECT_EQ(specs[3].dtype, DType::fp32);
  EXPECT_THROW(dispatcher().operands("gemm_a16w16 m=2"), Error);
}

}  // namespace
}  // namespace attune
