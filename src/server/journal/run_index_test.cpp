// SPDX-License-Identifier: MIT
#include "server/journal/run_index.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

constexpr int64_t kBegan = 1'700'000'003'000;  // Not at the begin of a slot.

EntryHeading entry_heading(EntryKind kind, int64_t at_ms) {
  EntryHeading one;
  one.kind = kind;
  one.stamp = {2, at_ms, 1};
  if (kind == EntryKind::record) one.stage = name(Stage::verify);
  return one;
}

/// A run over ten problems that has decided `num_decisions`, one each 20 s.
RunRow run_row(int num_decisions) {
  RunIndex index;
  RunBegin begin;
  begin.num_problems = 10;
  index.add(begin, {1, kBegan, 1});
  for (int i = 1; i <= num_decisions; ++i) index.count(entry_heading(EntryKind::decision, kBegan + 20'000 * i));
  return *index.find(1);
}

TEST(RunIndex, EstimatesTheTimeThatIsLeft) {
  const RunRow three = run_row(3);
  EXPECT_EQ(three.left_s(three.last_ms + 1000), 140);
  EXPECT_EQ(three.left_s(three.last_ms + 599'000), 140);
  EXPECT_FALSE(three.left_s(three.last_ms + 601'000)) << "it is dead or hangs";
  EXPECT_FALSE(run_row(0).left_s(kBegan + 1000));
  EXPECT_FALSE(run_row(10).left_s(kBegan + 201'000));
  RunRow ended = three;
  ended.end_ms = three.last_ms;
  EXPECT_FALSE(ended.left_s(three.last_ms));
  RunRow unknown = three;
  unknown.num_problems = 0;
  EXPECT_FALSE(unknown.left_s(three.last_ms));
}

TEST(RunIndex, SumsUpAllDecisionsOfARun) {
  RunIndex index;
  index.add(RunBegin{}, {1, kBegan, 1});
  EXPECT_FALSE(index.find(1)->mean_ratio());
  const auto add = [&](int64_t run, double ratio, Verdict verdict) {
    Decision decision;
    decision.comparison.ratio = ratio;
    decision.verdict = verdict;
    index.add(decision, {2, kBegan, run});
  };
  for (int i = 0; i < 1000; ++i) {
    add(1, 4, Verdict::faster);
    add(1, 1, Verdict::tie);
  }
  add(1, 0, Verdict::required);  // Nothing to compare with.
  add(2, 9, Verdict::faster);
  add(0, 9, Verdict::faster);
  EXPECT_NEAR(*index.find(1)->mean_ratio(), 2, 1e-9);
  EXPECT_EQ(index.find(1)->num_faster, 1000u);
  EXPECT_EQ(index.find(2)->num_faster, 1u);
  EXPECT_EQ(index.find(0), nullptr) << "entries of no run are none";
}

TEST(RecentCount, TellsEntriesAMinuteInAnyOrder) {
  RecentCount count;
  for (int second = 599; second >= 300; --second) count.add(kBegan + second * 1000);  // One a second, newest first.
  for (int second = 0; second < 300; ++second) count.add(kBegan + second * 1000);
  EXPECT_NEAR(count.a_minute(kBegan, kBegan + 600'000), 60, 1.5);
  EXPECT_NEAR(count.a_minute(kBegan, kBegan + 630'000), 30, 6) << "silence counts";
  EXPECT_EQ(count.a_minute(kBegan, kBegan + 700'000), 0);
  RecentCount young;
  for (int second = 0; second < 20; ++second) young.add(kBegan + second * 1000);
  EXPECT_NEAR(young.a_minute(kBegan, kBegan + 20'000), 60, 0.1);
  EXPECT_EQ(young.a_minute(kBegan, kBegan), 0);
}

}  // namespace
}  // namespace attune
