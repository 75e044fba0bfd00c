// SPDX-License-Identifier: MIT
// Tables that change while a dispatcher is open.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include "attune/error.h"
#include "testing/dispatcher_fixture.h"
#include "testing/environment.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(DispatcherTest, AChangedTableIsSeenAndPlansStay) {
  write(row(5, kGood) + row(6, kGood));
  const Hit first = dispatcher().require(key(5)), same = dispatcher().require(key(6));
  EXPECT_FALSE(dispatcher().reload());
  write(row(6, kGood) + row(5, kOther));
  EXPECT_TRUE(dispatcher().reload());
  const Hit second = dispatcher().choose(key(5));
  EXPECT_NE(second.plan, nullptr) << "what was served is served at once";
  EXPECT_NE(second.plan, first.plan);
  EXPECT_THAT(dispatcher().explain(key(5)), HasSubstr("t.csv:3 " + std::string(kOther)));
  EXPECT_EQ(dispatcher().choose(key(6)).plan, same.plan);
  std::filesystem::remove(table_);
  EXPECT_TRUE(dispatcher().reload());
  EXPECT_EQ(dispatcher().choose(key(5)).match, Match::fallback);
  EXPECT_EQ(dispatcher().counts().reloads, 2u);
  EXPECT_EQ(dispatcher().counts().shapes, 2u);
  EXPECT_EQ(dispatcher().counts().missed_shapes, 2u) << "no row serves them any more";
  write(row(6, kGood));
  dispatcher().reload();
  std::filesystem::remove(table_);
  dispatcher().reload();
  EXPECT_EQ(dispatcher().counts().missed_shapes, 2u) << "each is counted once";
}

/// A list of banned kernels in a state folder of the test's own.
class BannedKernels : public DispatcherTest {
 protected:
  void ban(const std::string& lines) {
    std::filesystem::create_directories(folder_.path() / "overlay");
    write_file_atomically(folder_.path() / "overlay/banned.csv", "candidate,device,problem,reason\n" + lines);
  }
  void SetUp() override { options_.max_regret = 0; }  // A row of another M would else stand in.
  const TestEnvironment home_{"ATTUNE_HOME", folder_.path().string()};
};

TEST_F(BannedKernels, TheNextBestRowServesAndTheBanIsSaid) {
  write(row(5, kGood, 1) + row(5, kOther, 2) + row(6, kGood));
  dispatcher().require(key(5));
  ban(std::string(kGood) + ",,,\"wrong, here\"\n");
  EXPECT_TRUE(dispatcher().reload());
  EXPECT_EQ(dispatcher().choose(key(5)).match, Match::exact) << "what was served is served at once";
  EXPECT_THAT(dispatcher().explain(key(5)), HasSubstr("t.csv:3 " + std::string(kOther)));
  EXPECT_THAT(dispatcher().explain(key(5)),
              HasSubstr("not used       m=5: " + table_.string() + ":2 " + kGood + " is banned: wrong, here"));
  EXPECT_EQ(dispatcher().require(key(6)).match, Match::fallback);
  EXPECT_THAT(dispatcher().notices(), testing::Contains(HasSubstr("2 rows not used, their kernels are banned")));
  std::filesystem::remove(folder_.path() / "overlay/banned.csv");
  EXPECT_TRUE(dispatcher().reload());
  EXPECT_EQ(dispatcher().choose(key(6)).match, Match::exact);
  EXPECT_FALSE(dispatcher().reload());
}

TEST_F(BannedKernels, ABanOfAnotherDeviceOrProblemDoesNotHold) {
  write(row(5, kGood) + row(6, kGood));
  ban(std::string(kGood) + ",fake/2,,there\n" + kGood +
      ",,gemm_a16w16 m=6 n=16 k=16 dtype=fp32 outdtype=fp32 bias=0,only that\n");
  EXPECT_EQ(dispatcher().require(key(5)).match, Match::exact);
  EXPECT_EQ(dispatcher().require(key(6)).match, Match::fallback);
}

TEST_F(BannedKernels, WhereNothingElseIsLeftTheRefusalSaysTheBan) {
  write(row(5, kGood));
  dispatcher().require(key(6));
  ban("fake.gemm,,,all of it\n");
  dispatcher().reload();
  for (const int64_t m : {5, 6}) {
    try {
      dispatcher().require(key(m));
      ADD_FAILURE() << "a plan that was made before the ban was served: " << m;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("is banned: all of it"));
    }
  }
  ban("");
  dispatcher().reload();
  EXPECT_EQ(dispatcher().require(key(5)).match, Match::exact);
}

TEST_F(BannedKernels, AFaultyListIsNamedAndItsOtherLinesHold) {
  write(row(5, kGood) + row(6, kOther));
  ban("no such thing!,,,no\n" + std::string(kGood) + ",,,no\n" + kOther);
  EXPECT_EQ(dispatcher().require(key(5)).match, Match::fallback);
  EXPECT_EQ(dispatcher().require(key(6)).match, Match::exact);
  EXPECT_THAT(dispatcher().notices(),
              testing::IsSupersetOf({HasSubstr("banned.csv:2: "), HasSubstr("banned.csv:4: ")}));
}

TEST_F(BannedKernels, ManyReadersWhileBansChange) {
  write(row(5, kGood) + row(6, kOther));
  dispatcher().require(key(5));
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> num_unserved = 0;
  std::vector<std::thread> readers;
  for (int thread = 0; thread < 2; ++thread) {
    readers.emplace_back([&] {
      while (!stop) num_unserved += dispatcher().choose(key(5)).plan == nullptr ? 1 : 0;
    });
  }
  for (int i = 0; i < 20; ++i) {
    ban(i % 2 == 0 ? std::string(kGood) + ",,,no\n" : "");
    dispatcher().reload();
    EXPECT_EQ(dispatcher().choose(key(5)).match, i % 2 == 0 ? Match::fallback : Match::exact);
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(num_unserved, 0u);
}

TEST_F(DispatcherTest, LooksAtItsTablesByItself) {
  write(row(5, kGood));
  options_.poll_interval = std::chrono::milliseconds(2);
  dispatcher().require(key(5));
  write(row(5, kOther) + row(6, kOther));
  EXPECT_EQ(wait_for(key(6), [](const Hit& hit) { return hit.match == Match::exact; }).match, Match::exact);
}

TEST_F(DispatcherTest, AWrongTableIsSkipped) {
  write("fake,4,many,16,16,torch.float32,torch.float32,1,x\n" + row(5, kGood));
  EXPECT_THAT(dispatcher().notices(), ElementsAre(HasSubstr("t.csv:2: column 'M' expects a whole number, got 'many'")));
  EXPECT_EQ(dispatcher().require(key(5)).match, Match::exact);
  write_file_atomically(table_, "no table at all\n");
  EXPECT_TRUE(dispatcher().reload());
  EXPECT_THAT(dispatcher().notices(), ElementsAre(HasSubstr("a table is skipped")));
}

TEST_F(DispatcherTest, ManyReadersWhileTablesChange) {
  write(row(5, kGood));
  dispatcher().require(key(5));
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> num_served = 0;
  std::vector<std::thread> readers;
  for (int thread = 0; thread < 2; ++thread) {
    readers.emplace_back([&] {
      while (!stop) {
        for (int64_t m = 1; m < 24; ++m) num_served += dispatcher().choose(key(m)).plan != nullptr ? 1 : 0;
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    write(row(5, i % 2 ? kGood : kOther) + row(16 + i % 3, kGood));
    EXPECT_TRUE(dispatcher().reload());
    EXPECT_NE(dispatcher().choose(key(5)).plan, nullptr);
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_GT(num_served, 0u);
}

}  // namespace
}  // namespace attune
