// SPDX-License-Identifier: MIT
#include "search/weight_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using testing::ElementsAre;

Candidate in_layout(const std::string& layout, int number = 0) {
  return {"s.gemm", "1", Config::parse("b_layout=" + layout + ";number=" + std::to_string(number))};
}
Candidate baseline() { return in_layout("usual"); }

/// A finalist that is `ratio` times as fast as a baseline of 100 µs, ± 1 %; confirmed if that is a gain.
Finalist finalist(const Candidate& who, double ratio) {
  return {who, {100 / ratio, ratio, {ratio * 0.99, ratio * 1.01}, 30}, {0.001 * ratio, 0, 0}, {}, ratio * 0.99 > 1.005};
}

/// A decision whose winner is the first finalist.
Decision decision(int m, double baseline_us, std::vector<Finalist> finalists) {
  Decision made;
  made.problem = Problem::parse("gemm_a16w16 m=" + std::to_string(m) + " n=8 k=8 bpreshuffle=1");
  made.winner = finalists.front().candidate;
  made.baseline = baseline();
  made.comparison.ratio = finalists.front().comparison.ratio;
  made.comparison.us = baseline_us / made.comparison.ratio;
  made.baseline_us = baseline_us;
  finalists.push_back(finalist(baseline(), 1));
  for (Finalist& one : finalists) one.comparison.us *= baseline_us / 100;
  made.finalists = std::move(finalists);
  return made;
}

GroupChoice choose(const std::vector<Decision>& decisions, std::vector<double> calls = {}) {
  std::vector<GroupRow> rows;
  for (size_t i = 0; i < decisions.size(); ++i) rows.push_back({&decisions[i], calls.empty() ? 1 : calls[i]});
  return choose_layout(rows, 0.005);
}

std::vector<std::string> names(const GroupChoice& choice) {
  std::vector<std::string> all;
  for (const GroupPick& pick : choice.picks) all.push_back(pick.candidate.config.key());
  return all;
}

TEST(WeightGroup, TakesTheLayoutOfTheLeastTotalTimeAndNotOfTheMostWins) {
  const std::vector<Decision> rows = {
      decision(1, 10, {finalist(in_layout("a"), 2), finalist(in_layout("b"), 1.1)}),
      decision(16, 20, {finalist(in_layout("a"), 2), finalist(in_layout("b"), 1.1)}),
      decision(512, 900, {finalist(in_layout("b"), 1.5), finalist(in_layout("a"), 1.2)})};
  const auto choice = choose(rows);
  EXPECT_EQ(choice.layout, "b");
  EXPECT_THAT(names(choice), ElementsAre("b_layout=b;number=0", "b_layout=b;number=0", "b_layout=b;number=0"));
  EXPECT_DOUBLE_EQ(choice.picks[0].comparison.us, 10 / 1.1) << "its own time, not the winner's";
  EXPECT_DOUBLE_EQ(choice.picks[0].errors.mismatch_ratio, 0.0011);
  EXPECT_DOUBLE_EQ(choice.picks[2].comparison.us, 900 / 1.5);
}

TEST(WeightGroup, UnderARequirementABaselineIsNoRowThatItDidNotWin) {
  std::vector<Decision> rows = {decision(1, 900, {finalist(in_layout("usual", 1), 1.01)}),
                                decision(512, 10, {finalist(in_layout("a"), 1.2)})};
  EXPECT_EQ(choose(rows).layout, "usual") << "the second row would lose little by its baseline";
  for (Decision& row : rows) row.protocol.require = Requirement::deterministic;
  EXPECT_EQ(choose(rows).layout, "") << "nothing says that the baseline is deterministic";
  EXPECT_THAT(names(choose(rows)), ElementsAre("b_layout=usual;number=1", "b_layout=a;number=0"));
}

TEST(WeightGroup, CountsCalls) {
  const std::vector<Decision> rows = {
      decision(1, 10, {finalist(in_layout("a"), 2), finalist(in_layout("b"), 1.1)}),
      decision(512, 900, {finalist(in_layout("b"), 1.5), finalist(in_layout("a"), 1.2)})};
  EXPECT_EQ(choose(rows).layout, "b");
  EXPECT_EQ(choose(rows, {1000, 1}).layout, "a");
}

TEST(WeightGroup, ComparesRowsThroughTheRatioToTheBaseline) {
  // The machine was slow while the second row's finalist was timed alone; its ratio to the baseline is unaffected.
  auto rows = std::vector{decision(1, 100, {finalist(in_layout("a"), 1.5), finalist(in_layout("b"), 1.4)})};
  rows[0].finalists[0].comparison.us *= 3;
  EXPECT_EQ(choose(rows).layout, "a");
}

TEST(WeightGroup, LeavesTheUsualLayoutForAGainOnly) {
  const auto rows_with = [](double gain) {
    return std::vector<Decision>{
        decision(1, 100, {finalist(in_layout("a"), gain)}),
        decision(512, 100, {finalist(in_layout("usual", 1), 1.2), finalist(in_layout("a"), 1.1)})};
  };
  const auto even = rows_with(1.085);
  EXPECT_EQ(choose(even).layout, "usual");
  EXPECT_THAT(names(choose(even)), ElementsAre(baseline().config.key(), "b_layout=usual;number=1"));
  EXPECT_EQ(choose(rows_with(1.2)).layout, "a");
}

TEST(WeightGroup, ReplacesABaselineOnlyByWhatIsConfirmed) {
  const Decision other = decision(512, 900, {finalist(in_layout("usual", 1), 1.5)});
  Decision doubtful = decision(1, 10, {finalist(in_layout("a"), 1.3), finalist(in_layout("usual", 1), 1.05)});
  EXPECT_THAT(names(choose({doubtful, other})), ElementsAre("b_layout=usual;number=1", "b_layout=usual;number=1"));
  doubtful.finalists[1].confirmed = false;  // only the finals' own samples say that it is faster
  EXPECT_THAT(names(choose({doubtful, other})), ElementsAre("b_layout=usual;number=0", "b_layout=usual;number=1"));
}

TEST(WeightGroup, ALayoutThatARowIsNotConfirmedInIsNoChoice) {
  const Decision gains = decision(1, 900, {finalist(in_layout("a"), 2)});
  Decision row = decision(512, 10, {finalist(in_layout("usual", 1), 1.2), finalist(in_layout("a"), 1.1)});
  EXPECT_EQ(choose({gains, row}).layout, "a");
  row.finalists[1].confirmed = false;
  EXPECT_EQ(choose({gains, row}).layout, "usual") << "whatever the sum of times";
  EXPECT_THAT(names(choose({gains, row})), ElementsAre(baseline().config.key(), "b_layout=usual;number=1"));
}

TEST(WeightGroup, WithoutACommonLayoutEachRowKeepsItsWinner) {
  auto rows =
      std::vector{decision(1, 100, {finalist(in_layout("a"), 1.2)}), decision(9, 100, {finalist(in_layout("b"), 1.2)})};
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].finalists.pop_back();
    rows[i].baseline = in_layout("usual" + std::to_string(i));
  }
  const auto choice = choose(rows);
  EXPECT_EQ(choice.layout, "");
  EXPECT_THAT(names(choice), ElementsAre("b_layout=a;number=0", "b_layout=b;number=0"));
}

TEST(WeightGroup, PlainIsALayoutLikeOthers) {
  const Candidate plain{"s.gemm", "1", Config::parse("number=1")};
  EXPECT_EQ(layout_of(plain), "plain");
  EXPECT_EQ(choose({decision(1, 100, {finalist(plain, 1.2), finalist(in_layout("a"), 1.1)})}).layout, "plain");
}

TEST(ChooseConfig, TheLeastProductOfTimesOfThoseInEveryRow) {
  const Candidate a = in_layout("plain", 1), b = in_layout("plain", 2), c = in_layout("plain", 3);
  using Times = std::map<Candidate, double>;
  EXPECT_EQ(choose_config(std::vector<Times>{{{a, 10}, {b, 12}}, {{a, 100}, {b, 80}}}), b) << "960 is below 1000";
  EXPECT_EQ(choose_config(std::vector<Times>{{{a, 10}, {b, 14}}, {{a, 100}, {b, 80}}}), a);
  EXPECT_EQ(choose_config(std::vector<Times>{{{a, 10}, {c, 1}}, {{a, 100}, {b, 1}}}), a) << "the others lack a row";
  EXPECT_EQ(choose_config(std::vector<Times>{{{b, 10}}, {{a, 100}}}), std::nullopt);
  EXPECT_EQ(choose_config({}), std::nullopt);
}

}  // namespace
}  // namespace attune
