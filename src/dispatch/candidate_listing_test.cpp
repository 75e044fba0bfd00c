// SPDX-License-Identifier: MIT
// Candidates that callers list and give by their numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "testing/dispatcher_fixture.h"

namespace attune {
namespace {

using testing::HasSubstr;

class CandidateListing : public DispatcherTest {
 protected:
  static constexpr const char* kProblem = "gemm_a16w16 m=2 n=2 k=16 dtype=fp32";

  void SetUp() override { write(""); }
  SolverCandidates fake(CandidateRange range = {}) {
    range.solver = "fake";
    const auto listed = dispatcher().candidates(kProblem, range);
    EXPECT_EQ(listed.size(), 1u);
    return listed.front();
  }
  /// Returns the error's code and sentence; empty if it ran with the expected result.
  std::string run(std::string_view candidate) {
    alignas(16) std::array<float, 32> a, b;
    alignas(16) std::array<float, 4> c{};
    a.fill(1);
    b.fill(2);
    try {
      dispatcher().run_candidate(kProblem, candidate, std::array<void*, 3>{a.data(), b.data(), c.data()});
    } catch (const Error& error) {
      return fmt::format("{}: {}", name(error.code()), error.what());
    }
    EXPECT_THAT(c, testing::Each(32.0F));
    return {};
  }
};

TEST_F(CandidateListing, NamesEveryCandidateWithItsNumberAndRunsNothing) {
  const SolverCandidates all = fake();
  EXPECT_EQ(all.solver, "fake.gemm");
  EXPECT_EQ(all.why_none, "");
  ASSERT_GT(all.candidates.size(), 8u);
  EXPECT_LT(all.candidates.size(), all.num_numbers) << "rules exclude tiles that do not fit";
  uint64_t before = 0;
  for (const NumberedCandidate& one : all.candidates) {
    EXPECT_TRUE(one.number == 0 || one.number > before);
    before = one.number;
    EXPECT_LT(one.number, all.num_numbers);
    EXPECT_EQ(one.short_name, fmt::format("fake#{}", one.number));
    EXPECT_TRUE(one.name.starts_with("fake.gemm@1:")) << one.name;
  }
  EXPECT_EQ(std::ranges::count(all.candidates, kGood, &NumberedCandidate::name), 1);
  EXPECT_EQ(dispatcher().counts().plans, 0u);
}

TEST_F(CandidateListing, RunsWhatANumberMeansAsItDoesTheName) {
  for (const NumberedCandidate& one : fake().candidates) {
    if (one.name != kOther && one.name != kGood) continue;
    EXPECT_EQ(run(one.short_name), "");
    EXPECT_EQ(run(fmt::format("fake.gemm#{}", one.number)), "");
    EXPECT_EQ(run(one.name), "");
  }
  EXPECT_EQ(dispatcher().counts().plans, 2u) << "the number and the names share a plan";
}

TEST_F(CandidateListing, ANumberIsOfItsProblem) {
  const NumberedCandidate last = fake().candidates.back();
  EXPECT_EQ(run(last.short_name), "");
  // Of packed weights there are more candidates, with layouts in their names. That list takes the place of the first.
  const std::string packed = std::string(kProblem) + " bpreshuffle=1";
  const auto listed = dispatcher().candidates(packed, {.solver = "fake.gemm"});
  ASSERT_EQ(listed.size(), 1u);
  ASSERT_FALSE(listed[0].candidates.empty());
  EXPECT_THAT(listed[0].candidates, testing::Each(testing::Field(&NumberedCandidate::name, HasSubstr("b_layout="))));
  EXPECT_EQ(run(last.short_name), "") << "what it meant before";
  EXPECT_EQ(fake().candidates.back().name, last.name);
}

TEST_F(CandidateListing, IsAsLongAsTheCallerWants) {
  const SolverCandidates all = fake();
  std::vector<std::string> paged, whole;
  for (const NumberedCandidate& one : all.candidates) whole.push_back(one.name);
  constexpr uint64_t kPage = 5;
  for (uint64_t first = 0;;) {
    const SolverCandidates page = fake({.first = first, .limit = kPage});
    for (const NumberedCandidate& one : page.candidates) {
      EXPECT_GE(one.number, first);
      paged.push_back(one.name);
    }
    if (page.candidates.size() < kPage) break;
    first = page.candidates.back().number + 1;
  }
  EXPECT_EQ(paged, whole);
  EXPECT_TRUE(fake({.first = all.num_numbers}).candidates.empty());
  EXPECT_TRUE(fake({.first = 1, .limit = 0}).candidates.empty());
  const SolverCandidates rest = fake({.first = all.num_numbers - 1, .limit = ~uint64_t{0}});
  EXPECT_EQ(rest.num_numbers, all.num_numbers);
  EXPECT_LE(rest.candidates.size(), 1u);
}

TEST_F(CandidateListing, SaysWhyASolverHasNone) {
  const auto all = dispatcher().candidates(kProblem);
  EXPECT_GT(all.size(), 1u) << "every solver of this build";
  for (const SolverCandidates& one : all) {
    EXPECT_EQ(one.why_none.empty(), one.num_numbers > 0) << one.solver << ' ' << one.why_none;
    EXPECT_EQ(one.solver == "fake.gemm", one.why_none.empty()) << one.solver;
  }
  EXPECT_THROW(dispatcher().candidates("gemm_a16w16 m=2"), Error);
  EXPECT_THROW(dispatcher().candidates(kProblem, {.solver = "gone"}), Error);
}

TEST_F(CandidateListing, NumbersThatMeanNothingAreRefused) {
  const SolverCandidates all = fake();
  EXPECT_EQ(run(fmt::format("fake#{}", all.num_numbers)),
            fmt::format("invalid_input: the numbers of fake.gemm for this problem are below {}, got 'fake#{}'",
                        all.num_numbers, all.num_numbers));
  uint64_t excluded = 0;
  while (std::ranges::count(all.candidates, excluded, &NumberedCandidate::number) > 0) ++excluded;
  EXPECT_THAT(run(fmt::format("fake#{}", excluded)), HasSubstr("excludes the config"));
  EXPECT_THAT(run("fake#first"), HasSubstr("solver#number"));
  EXPECT_EQ(run("gone#0"), "unavailable: no solver of that name is available on this machine: 'gone'");
  EXPECT_THAT(run("jit_cpu#0"), testing::StartsWith("unavailable: jit_cpu.gemm "));
  EXPECT_EQ(dispatcher().counts().plans, 0u);
}

}  // namespace
}  // namespace attune
