// SPDX-License-Identifier: MIT
// Two processes of a group, each a dispatcher with a table of its own, that change together.
#include "attune/common_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "testing/dispatcher_fixture.h"
#include "testing/environment.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CommonChangesTest : public DispatcherTest {
 protected:
  struct Rank {
    std::filesystem::path table;
    std::unique_ptr<Dispatcher> dispatcher;
    std::unique_ptr<CommonChanges> changes;
  };
  void SetUp() override {
    options_.device = "fake:0";
    options_.max_regret = 0;  // A row of another M would else stand in.
  }
  void start(const std::string& rows) {
    for (size_t i = 0; i < ranks_.size(); ++i) {
      ranks_[i].table = folder_.path() / fmt::format("t{}.csv", i);
      write(i, rows);
      options_.tables["gemm_a16w16"] = {ranks_[i].table};
      ranks_[i].dispatcher = std::make_unique<Dispatcher>(options_);
      ranks_[i].changes = std::make_unique<CommonChanges>(*ranks_[i].dispatcher);
    }
  }
  void write(size_t rank, const std::string& rows) {
    table_ = ranks_[rank].table;
    DispatcherTest::write(rows);
    if (ranks_[rank].dispatcher == nullptr) return;
    EXPECT_TRUE(ranks_[rank].dispatcher->reload());
  }
  /// What an application does where a step ends.
  std::vector<CommonResult> exchange() {
    std::vector<std::string> texts;
    for (Rank& one : ranks_) texts.push_back(one.changes->report().text);
    std::vector<CommonResult> results;
    for (Rank& one : ranks_) results.push_back(one.changes->apply(texts));
    return results;
  }
  bool is_quiet() {
    const CommonReport first = ranks_[0].changes->report(), second = ranks_[1].changes->report();
    return first.state == second.state && !first.has_news && !second.has_news;
  }
  /// What serves the shape on each rank.
  std::vector<std::string> served(int64_t m) {
    std::vector<std::string> all;
    for (Rank& one : ranks_) {
      const Hit hit = one.dispatcher->require(key(m));
      const std::string text = one.dispatcher->explain(key(m));
      all.push_back(hit.row == 0 ? "untuned" : text.find(kGood) != std::string::npos ? kGood : kOther);
    }
    return all;
  }

  std::array<Rank, 2> ranks_;
};

TEST_F(CommonChangesTest, TablesServeFromTheFirstExchangeOn) {
  start(row(5, kGood));
  EXPECT_THAT(served(5), ElementsAre("untuned", "untuned"));
  for (const CommonResult& one : exchange()) {
    EXPECT_TRUE(one.changed);
    EXPECT_THAT(one.differences, IsEmpty());
  }
  EXPECT_THAT(served(5), ElementsAre(kGood, kGood));
}

TEST_F(CommonChangesTest, AChangedTableWaitsUntilAllHaveReadIt) {
  start(row(5, kGood) + row(6, kGood));
  exchange();
  EXPECT_THAT(served(5), ElementsAre(kGood, kGood));
  write(0, row(5, kOther) + row(6, kOther));
  EXPECT_THAT(served(5), ElementsAre(kGood, kGood)) << "a changed table serves on no rank alone";
  EXPECT_THAT(exchange()[0].differences, ElementsAre(HasSubstr("changed tables wait, because rank 1 reads other")));
  EXPECT_THAT(served(5), ElementsAre(kGood, kGood));
  EXPECT_THAT(served(6), ElementsAre(kGood, kGood)) << "nor for a shape that was not called before";
  write(1, row(5, kOther) + row(6, kOther));
  EXPECT_THAT(served(6), ElementsAre(kGood, kGood));
  for (const CommonResult& one : exchange()) EXPECT_TRUE(one.changed);
  EXPECT_THAT(served(5), ElementsAre(kOther, kOther));
  EXPECT_THAT(served(6), ElementsAre(kOther, kOther));
}

TEST_F(CommonChangesTest, TheDispatchersOwnLooksChangeNothing) {
  options_.poll_interval = std::chrono::milliseconds(2);
  start(row(5, kGood));
  exchange();
  EXPECT_THAT(served(5), ElementsAre(kGood, kGood));
  while (!is_quiet()) exchange();
  table_ = ranks_[1].table;
  DispatcherTest::write(row(5, kOther));
  const auto has_read = [&] { return ranks_[1].changes->report().has_news; };
  for (int i = 0; i < 2000 && !has_read(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(has_read());
  EXPECT_THAT(served(5), ElementsAre(kGood, kGood));
}

TEST_F(CommonChangesTest, WhatWasReportedIsAppliedThoughAnotherTableWasReadMeanwhile) {
  start(row(5, kGood));
  std::vector<std::string> texts;
  for (Rank& one : ranks_) texts.push_back(one.changes->report().text);
  write(1, row(5, kOther));
  for (Rank& one : ranks_) one.changes->apply(texts);
  EXPECT_THAT(served(5), ElementsAre(kGood, kGood));
  write(0, row(5, kOther));
  exchange();
  EXPECT_THAT(served(5), ElementsAre(kOther, kOther));
}

TEST_F(CommonChangesTest, TablesThatDifferServeOnNoRank) {
  start(row(5, kGood));
  write(1, row(5, kOther));
  EXPECT_THAT(exchange()[1].differences, ElementsAre(HasSubstr("no rows serve, because rank 1 reads other")));
  EXPECT_THAT(served(5), ElementsAre("untuned", "untuned"));
  write(1, row(5, kGood));
  exchange();
  EXPECT_THAT(served(5), ElementsAre(kGood, kGood)) << "wherever the files lie, and whenever they were written";
}

TEST_F(CommonChangesTest, ABanHoldsWhenAllHaveReadIt) {
  const TestEnvironment home("ATTUNE_HOME", folder_.path().string());
  start(row(5, kGood));
  exchange();
  std::filesystem::create_directories(folder_.path() / "overlay");
  write_file_atomically(folder_.path() / "overlay/banned.csv",
                        "candidate,device,problem,reason\n" + std::string(kGood) + ",,,wrong here\n");
  ranks_[0].dispatcher->reload();
  exchange();
  EXPECT_THAT(served(5), ElementsAre(kGood, kGood));
  ranks_[1].dispatcher->reload();
  exchange();
  EXPECT_THAT(served(5), ElementsAre("untuned", "untuned"));
}

TEST_F(CommonChangesTest, NothingIsExchangedWhereNothingIsNew) {
  start(row(5, kGood));
  exchange();
  served(5);
  EXPECT_FALSE(is_quiet()) << "who serves the new shape is compared";
  exchange();
  EXPECT_TRUE(is_quiet());
  for (int i = 0; i < 3; ++i) served(5);
  EXPECT_TRUE(is_quiet());
  write(0, row(5, kOther));
  EXPECT_FALSE(is_quiet());
}

TEST_F(CommonChangesTest, ARankThatMissedAnExchangeIsLevelAfterTheNext) {
  start(row(5, kGood));
  exchange();
  for (size_t rank : {0, 1}) write(rank, row(5, kOther));
  std::vector<std::string> texts;
  for (Rank& one : ranks_) texts.push_back(one.changes->report().text);
  ranks_[0].changes->apply(texts);  // Rank 1 was told that the exchange failed.
  EXPECT_THAT(served(5), ElementsAre(kOther, kGood));
  EXPECT_FALSE(is_quiet());
  exchange();
  EXPECT_THAT(served(5), ElementsAre(kOther, kOther));
}

TEST_F(CommonChangesTest, WhatWaitsServesWhenTheyEnd) {
  start(row(5, kGood));
  exchange();
  write(0, row(5, kOther));
  EXPECT_THAT(served(5), ElementsAre(kGood, kGood));
  for (Rank& one : ranks_) one.changes.reset();
  EXPECT_THAT(served(5), ElementsAre(kOther, kGood));
  EXPECT_FALSE(ranks_[0].dispatcher->reload()) << "nothing is read again";
  write(1, row(5, kOther));
  EXPECT_THAT(served(5), ElementsAre(kOther, kOther)) << "a rank changes by itself again";
}

TEST_F(CommonChangesTest, OtherTextsAreRefusedAndChangeNothing) {
  start(row(5, kGood));
  const std::string own = ranks_[0].changes->report().text;
  EXPECT_THROW(ranks_[0].changes->apply({}), Error);
  EXPECT_THROW(ranks_[0].changes->apply(std::vector<std::string>{own, "attune serving report 2\n"}), Error);
  EXPECT_THAT(served(5), ElementsAre("untuned", "untuned"));
  EXPECT_THROW(CommonChanges(*ranks_[0].dispatcher), Error) << "a dispatcher's changes are held once";
}

}  // namespace
}  // namespace attune
