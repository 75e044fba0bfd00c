// SPDX-License-Identifier: MIT
#include "pipeline/run/run_results.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

/// A shape that was measured in two attempts which agree; `log_ratio`: ln of its speed-up.
ShapeChange measured(double log_ratio) {
  ShapeChange shape{.problem = Problem::parse("gemm_a16w16 m=1 n=64 k=64")};
  shape.before.served = Candidate::parse("fake.gemm@1:a=1");
  shape.after.served = Candidate::parse("fake.gemm@1:a=2");
  const std::vector<ChangePairs> openings(ChangeOptions().max_openings[1],
                                          ChangePairs{log_ratio - 0.001, log_ratio, log_ratio + 0.001});
  shape.samples.attempts = {openings, openings};
  return shape;
}

ShapeChange failed() {
  ShapeChange shape = measured(0);
  shape.samples = {.attempts = {}, .why_failed = "crashed"};
  return shape;
}

/// So little slower that it is proven when it is tested alone, but not among many others.
ShapeChange hardly_slower() {
  ShapeChange shape = measured(0);
  std::vector<ChangePairs> openings;
  for (const double log_ratio : {-0.020, -0.031, -0.015, -0.036, -0.024, -0.029, -0.019, -0.034})
    openings.push_back({log_ratio - 0.001, log_ratio, log_ratio + 0.001});
  shape.samples.attempts = {openings, openings};
  return shape;
}

FamilyResult family(std::vector<ShapeChange> shapes) {
  FamilyResult result;
  result.shapes = std::move(shapes);
  return result;
}

int status_of(std::vector<FamilyResult> families, int interrupt = 0) {
  RunResults results{.families = std::move(families)};
  judge_run(results, {}, interrupt);
  return results.status;
}

TEST(RunResults, EachFamilyGetsTheVerdictsOfItsOwnShapes) {
  RunResults results{.families = {family({measured(0), measured(-0.1)}), family({}), family({measured(0.1)})}};
  judge_run(results, {}, 0);
  ASSERT_EQ(results.verdicts.size(), 3u);
  ASSERT_EQ(results.verdicts[0].size(), 2u);
  EXPECT_EQ(results.verdicts[0][0].verdict, Change::same);
  EXPECT_EQ(results.verdicts[0][1].verdict, Change::slower);
  EXPECT_TRUE(results.verdicts[1].empty());
  ASSERT_EQ(results.verdicts[2].size(), 1u);
  EXPECT_EQ(results.verdicts[2][0].verdict, Change::faster);
  EXPECT_EQ(results.status, 1);
}

TEST(RunResults, ShapesOfAllFamiliesAreJudgedTogether) {
  RunResults alone{.families = {family({hardly_slower()})}};
  judge_run(alone, {}, 0);
  EXPECT_EQ(alone.verdicts[0][0].verdict, Change::slower);
  RunResults together{.families = {family({hardly_slower()}), family(std::vector(200, measured(0)))}};
  judge_run(together, {}, 0);
  EXPECT_EQ(together.verdicts[0][0].verdict, Change::ambiguous) << "one of 201 tests of the run";
  EXPECT_LT(together.verdicts[0][0].interval.low, alone.verdicts[0][0].interval.low);
}

TEST(RunResults, TheStatusIsOfTheWholeRun) {
  EXPECT_EQ(status_of({family({measured(0)}), family({measured(0.1)})}), 0);
  EXPECT_EQ(status_of({family({failed()}), family({measured(0)})}), 0) << "not every shape failed";
  EXPECT_EQ(status_of({family({failed()}), family({failed()})}), 1);
  FamilyResult unread = family({});
  unread.failure = "a table cannot be read";
  unread.code = ErrorCode::invalid_input;
  EXPECT_EQ(status_of({family({measured(0)}), unread}), 1);
  FamilyResult lost = unread;
  lost.code = ErrorCode::device;
  EXPECT_EQ(status_of({unread, lost}), 3);
  FamilyResult unwritten = family({measured(-0.1)});
  unwritten.unwritten = "the disk is full";
  EXPECT_EQ(status_of({unwritten}), 3);
  EXPECT_EQ(status_of({lost}, 143), 143);
}

}  // namespace
}  // namespace attune
