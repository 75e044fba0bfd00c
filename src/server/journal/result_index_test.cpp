// SPDX-License-Identifier: MIT
#include "server/journal/result_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace attune {
namespace {

using testing::ElementsAre;

ResultRow row(int64_t id, const std::string& problem, double ratio) {
  return {.stamp = {id, 0, id / 10},
          .problem = problem,
          .device = "cpu/2",
          .winner = "Fast@1:a=1",
          .verdict = ratio > 1 ? Verdict::faster : Verdict::tie,
          .ratio = ratio};
}

std::vector<int64_t> ids(const ResultPage& page) {
  std::vector<int64_t> all;
  for (const ResultRow& one : page.rows) all.push_back(one.stamp.id);
  return all;
}

class ResultIndexTest : public testing::Test {
 protected:
  ResultIndexTest() {
    index_.add_newest(row(11, "m=8", 1.5));
    index_.add_newest(row(12, "m=2", 1.0));
    index_.add_oldest(row(4, "m=16", 1.2));
    index_.add_oldest(row(3, "m=1", 1.2));
  }
  ResultIndex index_;
};

TEST_F(ResultIndexTest, IsOrderedByEachColumnFromBothEnds) {
  EXPECT_THAT(ids(index_.page({})), ElementsAre(12, 11, 4, 3));
  EXPECT_THAT(ids(index_.page({.is_ascending = true})), ElementsAre(3, 4, 11, 12));
  EXPECT_THAT(ids(index_.page({.order = ResultOrder::ratio})), ElementsAre(11, 4, 3, 12)) << "ties by id";
  EXPECT_THAT(ids(index_.page({.order = ResultOrder::problem, .is_ascending = true})), ElementsAre(3, 4, 12, 11));
}

TEST_F(ResultIndexTest, PagesFollowEachOtherWhateverComesMeanwhile) {
  ResultQuery query{.order = ResultOrder::ratio, .limit = 2};
  ResultPage page = index_.page(query);
  EXPECT_THAT(ids(page), ElementsAre(11, 4));
  EXPECT_EQ(page.num_found, 4u);
  EXPECT_FALSE(page.is_last);
  index_.add_newest(row(13, "m=3", 9));
  query.after_id = 4;
  page = index_.page(query);
  EXPECT_THAT(ids(page), ElementsAre(3, 12));
  EXPECT_TRUE(page.is_last);
  query.after_id = 5;
  EXPECT_TRUE(index_.page(query).rows.empty()) << "no such result";
}

TEST_F(ResultIndexTest, AreSelectedByTextRunAndVerdict) {
  EXPECT_THAT(ids(index_.page({.text = "M=1"})), ElementsAre(4, 3));
  EXPECT_THAT(ids(index_.page({.text = "fast@"})), ElementsAre(12, 11, 4, 3));
  EXPECT_THAT(ids(index_.page({.run = 1})), ElementsAre(12, 11));
  EXPECT_THAT(ids(index_.page({.verdict = Verdict::tie})), ElementsAre(12));
  EXPECT_THAT(ids(index_.page({.device = "cpu"})), ElementsAre());
}

}  // namespace
}  // namespace attune
