// SPDX-License-Identifier: MIT
#include "dispatch/table/lookup_trace.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dispatch/table/lookup_steps.h"
#include "testing/table_values.h"

namespace attune {
namespace {

using testing::ElementsAre;

/// Traces lookups in one table of gemm_a16w16 with rows for N = K = 64.
class LookupTrace : public testing::Test {
 protected:
  explicit LookupTrace(const std::vector<std::string>& rows = {test_row(16, "5.0"), test_row(64, "5.0")})
      : index_(codes_, std::vector{test_document("t.csv", rows)}, table_device()) {}

  /// Returns the steps, such as `padded_fine m=16 line=2`.
  std::vector<std::string> trace(int64_t m, double max_regret = 0) const {
    const Problem problem = table_problem(static_cast<int>(m));
    const GroupKey group = codes_.group_key(codes_.key(problem));
    std::vector<std::string> steps;
    for (const TracedStep& one : trace_lookup(index_, m, 64, true, std::span(&group, 1), max_regret)) {
      std::string text = fmt::format("{} m={}", name(one.met.match), one.m);
      if (one.met.number != 0) text += fmt::format(" line={}", index_.row(one.met.number).line);
      if (one.met.match == Match::predicted) text += fmt::format(" regret={}", one.met.regret);
      if (!one.is_allowed) text += " above the limit";
      steps.push_back(text);
    }
    return steps;
  }

  KeyCodes codes_{test_family()};
  RowIndex index_;
};

/// Looks up packed weights in rows of several layouts.
class LookupOfPackedWeights : public testing::Test {
 protected:
  static std::string row(int m, const std::string& layout, double us) {
    return fmt::format("fake,4,{},64,64,False,torch.float32,torch.float32,False,True,{},a@1:x=1,{}\n", m, us, layout);
  }
  /// Returns the lines of the rows that match in one way, in the order in which they are tried.
  std::vector<size_t> lines(int64_t m, Match match) const {
    const Problem problem = table_problem(static_cast<int>(m)).with("bpreshuffle", "1");
    std::vector<GroupKey> groups;
    for (const std::string& layout : index_.layouts())
      groups.push_back(codes_.group_key(codes_.key(problem), KeyCodes::layout_code(layout)));
    std::vector<size_t> found;
    for (const TracedStep& one : trace_lookup(index_, m, 64, true, groups, 10)) {
      if (one.met.match == match && one.met.number != 0) found.push_back(index_.row(one.met.number).line);
    }
    return found;
  }

  KeyCodes codes_{test_family()};
  RowIndex index_{codes_,
                  std::vector{CsvDocument::parse(std::string(kTestHeader) + ",layout\n" + row(300, "p.v1", 10) +
                                                     row(400, "p.v1", 10.5) + row(300, "q.v1", 8) + row(400, "", 30),
                                                 "bf16_tuned_gemm.csv")},
                  table_device()};
};

}  // namespace

TEST(Padding, FollowsTheLadder) {
  EXPECT_EQ(padded_m_fine(kProductPadding, 1), 16);
  EXPECT_EQ(padded_m_fine(kProductPadding, 256), 256);
  EXPECT_EQ(padded_m_fine(kProductPadding, 257), 288);
  EXPECT_EQ(padded_m_fine(kProductPadding, 1025), 1088);
  EXPECT_EQ(padded_m_fine(kProductPadding, 4097), 4224);
  EXPECT_EQ(padded_m_coarse(kProductPadding, 1, 1), 1);
  EXPECT_EQ(padded_m_coarse(kProductPadding, 9000, 4096), 16384);
  EXPECT_EQ(padded_m_coarse(kProductPadding, 9000, 4097), 8192);
}

TEST(Padding, IsTheFamilysOwn) {
  const PaddingLadder ladder = {
      .fine = {{{8, 2}, {64, 4}, {128, 8}}}, .last_multiple = 256, .max_coarse_rows = 512, .max_free_columns = 10};
  EXPECT_EQ(padded_m_fine(ladder, 7), 8);
  EXPECT_EQ(padded_m_fine(ladder, 9), 12);
  EXPECT_EQ(padded_m_fine(ladder, 65), 72);
  EXPECT_EQ(padded_m_fine(ladder, 129), 256);
  EXPECT_EQ(padded_m_coarse(ladder, 600, 11), 512);
  EXPECT_EQ(padded_m_coarse(ladder, 600, 10), 1024);
}

TEST(Padding, IsForTheFamiliesThatPad) {
  std::vector<std::string> padded;
  for (const FamilySpec& family : families()) {
    if (family.pads_rows) padded.emplace_back(family.op);
  }
  EXPECT_THAT(padded, ElementsAre("gemm_a16w16", "gemm_a8w8", "gemm_a8w8_bpreshuffle", "gemm_a8w8_blockscale",
                                  "gemm_a8w8_blockscale_bpreshuffle", "gemm_a4w4_blockscale"));
}

TEST_F(LookupTrace, ExactRowsComeFirstThenPaddedOnes) {
  EXPECT_THAT(trace(16), ElementsAre("exact m=16 line=2"));
  EXPECT_THAT(trace(9), ElementsAre("exact m=9", "padded_fine m=16 line=2"));
  EXPECT_THAT(trace(50), ElementsAre("exact m=50", "padded_fine m=64 line=3"));
  EXPECT_THAT(trace(300), ElementsAre("exact m=300", "padded_fine m=320", "padded_coarse m=512"));
}

TEST_F(LookupTrace, PredictionsAboveTheLimitAreNamed) {
  const std::string first = "predicted m=64 line=3 regret=0";
  EXPECT_THAT(trace(40, 1), ElementsAre("exact m=40", "padded_fine m=48", "padded_coarse m=64 line=3", first,
                                        "predicted m=16 line=2 regret=2 above the limit"));
  EXPECT_THAT(trace(40, 2), ElementsAre("exact m=40", "padded_fine m=48", "padded_coarse m=64 line=3", first,
                                        "predicted m=16 line=2 regret=2"));
  EXPECT_EQ(trace(40, 0).size(), 3u);
}

TEST_F(LookupTrace, ALimitThatNoFloatHoldsAllowsItsOwnBound) {
  // 1.1 is below the nearest float.
  const double limit = 1.1;
  const RowIndex index(codes_, std::vector{test_document("t.csv", {test_row(1000, "10"), test_row(2000, "21")})},
                       table_device());
  const GroupKey group = codes_.group_key(codes_.key(table_problem(1001)));
  const auto steps = trace_lookup(index, 1001, 64, true, std::span(&group, 1), limit);
  size_t num_allowed = 0, num_served = 0;
  for (const TracedStep& one : steps) num_allowed += one.met.match == Match::predicted && one.is_allowed;
  visit_rows<1>(index, 1001, 64, true, std::span(&group, 1), limit, [&](const MatchedRow& met) {
    num_served += met.match == Match::predicted;
    return false;
  });
  EXPECT_GT(num_served, 0u);
  EXPECT_EQ(num_allowed, num_served);
}

TEST_F(LookupOfPackedWeights, TriesTheFastestLayoutOfAStepFirst) {
  EXPECT_THAT(lines(300, Match::exact), ElementsAre(4, 2));
  EXPECT_THAT(lines(400, Match::exact), ElementsAre(3, 5));
}

TEST_F(LookupOfPackedWeights, PredictsFromTheRowsOfEachLayout) {
  // The nearer row of each layout, smaller bounds first; then the other rows.
  EXPECT_THAT(lines(350, Match::predicted), ElementsAre(3, 5, 4, 2));
}

}  // namespace attune
