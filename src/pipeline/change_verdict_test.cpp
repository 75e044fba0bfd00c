// SPDX-License-Identifier: MIT
#include "pipeline/change_verdict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "testing/recorded_pairs.h"

namespace attune {
namespace {

/// An opening of `count` pairs around a speed-up, ± `spread`.
ChangePairs opening(double speedup, double spread = 0.02, size_t count = 32) {
  ChangePairs pairs;
  for (size_t i = 0; i < count; ++i)
    pairs.push_back(std::log(speedup) + spread * (static_cast<double>(i % 8) - 3.5) / 3.5);
  return pairs;
}

ChangeSamples shape(const std::vector<double>& first, const std::vector<double>& second, double spread = 0.02) {
  ChangeSamples samples;
  for (const auto& attempt : {first, second}) {
    if (attempt.empty()) continue;
    samples.attempts.emplace_back();
    for (const double speedup : attempt) samples.attempts.back().push_back(opening(speedup, spread));
  }
  return samples;
}

const std::vector<double> kSlow(8, 0.95), kFast(8, 1.05), kEqual(8, 1.0);

Change verdict_on(const ChangeSamples& samples) { return judge_changes(std::span(&samples, 1), {})[0].verdict; }

TEST(ChangeVerdict, NeedsBothAttemptsToCallAShapeSlowerOrFaster) {
  EXPECT_EQ(verdict_on(shape(kSlow, kSlow)), Change::slower);
  EXPECT_EQ(verdict_on(shape(kFast, kFast)), Change::faster);
  EXPECT_EQ(verdict_on(shape(kSlow, {})), Change::ambiguous);
  EXPECT_EQ(verdict_on(shape(kSlow, kEqual)), Change::ambiguous);
  EXPECT_EQ(verdict_on(shape(kFast, kSlow)), Change::ambiguous);
}

TEST(ChangeVerdict, IsTheSameWithinTheAllowedRegressionAlone) {
  EXPECT_EQ(verdict_on(shape({1, 1, 1}, {})), Change::same);
  EXPECT_EQ(verdict_on(shape({0.985, 0.985, 0.985}, {})), Change::same);
  EXPECT_EQ(verdict_on(shape({0.975, 0.975, 0.975}, {})), Change::ambiguous);
  EXPECT_EQ(verdict_on(shape({1, 1}, {})), Change::ambiguous);
  // A wide interval says nothing.
  EXPECT_EQ(verdict_on(shape({1, 1, 1}, {}, 0.5)), Change::ambiguous);
}

TEST(ChangeVerdict, JudgesOpeningsThatDifferByTheirNumber) {
  const std::vector<double> varying = {0.90, 1.02, 0.88, 1.01, 0.93, 1.00, 0.89, 1.03};
  EXPECT_EQ(verdict_on(shape(varying, varying)), Change::ambiguous);
}

TEST(ChangeVerdict, GivesTheSpeedUpOfAllPairsAndOfEachAttempt) {
  const ChangeSamples samples = shape(kSlow, std::vector<double>(8, 0.93));
  const ChangeResult result = judge_changes(std::span(&samples, 1), {})[0];
  EXPECT_NEAR(result.speedup, 0.94, 1e-3);
  ASSERT_EQ(result.attempts.size(), 2u);
  EXPECT_NEAR(result.attempts[0], 0.95, 1e-3);
  EXPECT_NEAR(result.attempts[1], 0.93, 1e-3);
  EXPECT_EQ(result.num_pairs, 512u);
  EXPECT_LT(result.interval.low, 0.94);
  EXPECT_GT(result.interval.high, 0.94);
  EXPECT_LT(result.interval.high, 1 / 1.02);
}

TEST(ChangeVerdict, FailsForAShapeThatHasNoSamplesAndGoesOnWithTheOthers) {
  const std::vector<ChangeSamples> shapes = {{.attempts = {}, .why_failed = "crashed"}, {}, shape(kSlow, kSlow)};
  const auto results = judge_changes(shapes, {});
  EXPECT_EQ(results[0].verdict, Change::failed);
  EXPECT_EQ(results[1].verdict, Change::failed);
  EXPECT_EQ(results[2].verdict, Change::slower);
}

TEST(ChangeVerdict, AdjustsItsIntervalsByTheNumberOfShapes) {
  // Alone it is proven, among a hundred it is not.
  const ChangeSamples weak = shape(std::vector<double>(8, 0.9675), std::vector<double>(8, 0.9675), 0.1);
  EXPECT_EQ(verdict_on(weak), Change::slower);
  std::vector<ChangeSamples> many(100, shape({1, 1, 1}, {}));
  many[7] = weak;
  const auto results = judge_changes(many, {});
  EXPECT_EQ(results[7].verdict, Change::ambiguous);
  EXPECT_LT(results[7].interval.low, judge_changes(std::span(&weak, 1), {})[0].interval.low);
  // Holm: the clear ones are proven first, and no longer count.
  std::vector<ChangeSamples> clear(100, shape(kSlow, kSlow));
  clear[7] = weak;
  EXPECT_EQ(judge_changes(clear, {})[7].verdict, Change::slower);
}

TEST(ChangeVerdict, AsksForOpeningsUntilAShapeIsTheSameThenForASecondAttempt) {
  const ChangeOptions options;
  EXPECT_EQ(next_step({}, options), ChangeStep::opening);
  EXPECT_EQ(next_step(shape({1, 1}, {}), options), ChangeStep::opening);
  EXPECT_EQ(next_step(shape({1, 1, 1}, {}), options), ChangeStep::done);
  EXPECT_EQ(next_step(shape({0.95, 0.95, 0.95}, {}), options), ChangeStep::opening);
  EXPECT_EQ(next_step(shape(kSlow, {}), options), ChangeStep::second_attempt);
  EXPECT_EQ(next_step(shape(kSlow, {0.95, 0.95, 0.95}), options), ChangeStep::opening);
  EXPECT_EQ(next_step(shape(kSlow, kSlow), options), ChangeStep::opening);
  EXPECT_EQ(next_step(shape(kSlow, std::vector<double>(options.max_openings[1], 0.95)), options), ChangeStep::done);
  EXPECT_EQ(next_step({.attempts = {}, .why_failed = "crashed"}, options), ChangeStep::done);
}

// tests/perf/change_verdicts.cpp has the whole experiment.
TEST(ChangeVerdict, FindsAPlantedRegressionInTheNoiseOfRealKernelsAndNothingElse) {
  const auto noise = recorded_samples(
      std::filesystem::path(ATTUNE_SOURCE_DIR) / "tests" / "perf" / "data" / "host_noise.txt", "quiet");
  ASSERT_GT(noise.size(), 1000u);
  Random random(1);
  const ChangeOptions options;
  for (int run = 0; run < 3; ++run) {
    std::vector<ChangeSamples> shapes;
    for (int i = 0; i < 10; ++i)
      shapes.push_back(recorded_change(noise, i == 3 ? -std::log(1.05) : 0, options, random));
    const auto results = judge_changes(shapes, options);
    for (int i = 0; i < 10; ++i) {
      const bool is_called = results[i].verdict == Change::slower || results[i].verdict == Change::faster;
      EXPECT_EQ(is_called, i == 3) << run << " " << i << " " << name(results[i].verdict);
    }
  }
}

}  // namespace
}  // namespace attune
