// SPDX-License-Identifier: MIT
#include "pipeline/before_after.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

ShapeChange shape(std::string_view before, std::string_view after) {
  ShapeChange change{.problem = Problem::parse("gemm_a16w16 m=1 n=64 k=64")};
  change.before.served = Candidate::parse(before);
  change.after.served = Candidate::parse(after);
  change.before.untuned = change.after.untuned = Candidate::parse("fake.gemm@1:a=0");
  return change;
}

ShapeChange measured(double log_ratio) {
  ShapeChange change = shape("fake.gemm@1:a=1", "fake.gemm@1:a=2");
  const std::vector<ChangePairs> openings(ChangeOptions().max_openings[1],
                                          ChangePairs{log_ratio - 0.001, log_ratio, log_ratio + 0.001});
  change.samples.attempts = {openings, openings};
  return change;
}

TEST(BeforeAfter, AShapeThatKeepsItsKernelIsTheSameAndNoTest) {
  const std::vector<ShapeChange> shapes = {shape("fake.gemm@1:a=1", "fake.gemm@1:a=1"), measured(-0.1), measured(0.1)};
  const auto results = judge(shapes, {});
  EXPECT_EQ(results[0].verdict, Change::same);
  EXPECT_EQ(results[0].num_pairs, 0u);
  EXPECT_EQ(results[1].verdict, Change::slower);
  EXPECT_EQ(results[2].verdict, Change::faster);
}

TEST(BeforeAfter, AShapeThatWasNotMeasuredFailed) {
  ShapeChange refused = shape("fake.gemm@1:a=1", "fake.gemm@1:a=2");
  refused.samples.why_failed = refused.reason = "crashed";
  ShapeChange unknown = refused;
  unknown.before.served = unknown.after.served = {};
  const auto results = judge({refused, unknown, shape("fake.gemm@1:a=1", "fake.gemm@1:a=2")}, {});
  for (const ChangeResult& result : results) EXPECT_EQ(result.verdict, Change::failed);
}

TEST(BeforeAfter, WhatNeitherARowNorALibraryServedBeforeHasNoDefault) {
  ShapeChange fresh = shape("portable.gemm@1:block=4x4", "fake.gemm@1:a=2");
  fresh.before.untuned = fresh.after.untuned = {};
  EXPECT_EQ(judge({fresh}, {})[0].verdict, Change::no_default);
  fresh.before.row = "t.csv:2";
  EXPECT_EQ(judge({fresh}, {})[0].verdict, Change::failed) << "a row's kernel is compared, and was not measured";
  fresh.samples.why_failed = "crashed";
  EXPECT_EQ(judge({fresh}, {})[0].verdict, Change::failed);
}

TEST(BeforeAfter, WhatAnEarlierCallMeasuredIsNotMeasuredAgain) {
  ShapeChange change = measured(-0.1);
  EXPECT_FALSE(is_to_be_measured(change, {}));
  change.samples.attempts.resize(1);
  EXPECT_TRUE(is_to_be_measured(change, {})) << "the second attempt";
  change.samples.attempts.clear();
  EXPECT_TRUE(is_to_be_measured(change, {}));
  change.reason = "the kernel is the same";
  EXPECT_FALSE(is_to_be_measured(change, {}));
}

}  // namespace
}  // namespace attune
