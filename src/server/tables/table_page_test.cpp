// SPDX-License-Identifier: MIT
#include "server/tables/table_page.h"

#include <gmock/gmock.h>

namespace attune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

RowSummary summary_row(const std::string& problem, const std::string& kernel, bool is_taken = true,
                       Requirement require = Requirement::none) {
  return {.family = "gemm",
          .place = "t.csv:2",
          .problem = problem,
          .device = "cpu/2",
          .kernel = kernel,
          .require = require,
          .us = 2,
          .is_taken = is_taken,
          .use = is_taken ? "is taken" : "has a _tag"};
}

ResultRow decided_row(int64_t id, const std::string& problem, const std::string& winner,
                      const std::string& device = "cpu/2", Requirement require = Requirement::none) {
  return {.stamp = {id, 0, 1}, .problem = problem, .device = device, .winner = winner, .require = require};
}

class TablePageTest : public testing::Test {
 protected:
  TablePageTest() {
    for (const ResultRow& one :
         {decided_row(1, "m=1", "Old"), decided_row(2, "m=2", "B"), decided_row(3, "m=1", "A"),
          decided_row(4, "m=4", "D"), decided_row(5, "m=1", "A", "cpu/4"), decided_row(6, "m=5", "E")})
      index_.add_newest(one);
    rows_.rows = {summary_row("m=1", "A"), summary_row("m=2", "X"), summary_row("m=3", "C"),
                  summary_row("m=5", "E", false)};
  }
  TablePage page(const TableQuery& query) const { return table_page(rows_, NewestResults(index_.rows()), query); }
  /// The lines as `problem agreement`.
  std::vector<std::string> lines(const TableQuery& query) const {
    std::vector<std::string> texts;
    for (const TableLine& line : page(query).lines)
      texts.push_back((line.row ? line.row->problem : "- " + line.decision->problem) + " " +
                      std::string(name(line.agreement)) + (line.decision ? " " + line.decision->winner : ""));
    return texts;
  }

  ResultIndex index_;
  RowSummaries rows_;
};

TEST_F(TablePageTest, EachRowStandsBesideTheNewestDecisionOnItsDevice) {
  EXPECT_THAT(lines({}), ElementsAre("m=1 same A", "m=2 other B", "m=3 undecided", "m=5 same E", "- m=5 unpublished E",
                                     "- m=1 unpublished A", "- m=4 unpublished D"));
  EXPECT_THAT(page({}).counts, ElementsAre(2, 1, 1, 3));
}

TEST_F(TablePageTest, ARowStandsBesideTheDecisionUnderItsRequirement) {
  index_ = {};
  index_.add_newest(decided_row(1, "m=1", "A", "cpu/2", Requirement::deterministic));
  index_.add_newest(decided_row(2, "m=1", "B"));
  rows_.rows = {summary_row("m=1", "A", true, Requirement::deterministic),
                summary_row("m=1", "C", true, Requirement::batch_invariant)};
  EXPECT_THAT(lines({}), ElementsAre("m=1 same A", "m=1 undecided", "- m=1 unpublished B"));
}

TEST_F(TablePageTest, LinesAreFilteredAndPaged) {
  EXPECT_THAT(lines({.text = "CPU/4"}), ElementsAre("- m=1 unpublished A"));
  EXPECT_THAT(lines({.text = "x"}), ElementsAre("m=2 other B"));
  EXPECT_THAT(lines({.agreement = RowAgreement::undecided}), ElementsAre("m=3 undecided"));
  EXPECT_THAT(lines({.after = 2, .limit = 2}), ElementsAre("m=3 undecided", "m=5 same E"));
  EXPECT_THAT(lines({.after = 7}), IsEmpty());
  EXPECT_EQ(page({.text = "m=1", .limit = 1}).num_found, 2u);
}

}  // namespace
}  // namespace attune
