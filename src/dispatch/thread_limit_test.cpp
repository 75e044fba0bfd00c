// SPDX-License-Identifier: MIT
// The thread limit of a dispatcher: rows, plans and libraries go by it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "attune/dispatcher.h"
#include "attune/error.h"
#include "base/file.h"
#include "device/devices.h"
#include "testing/environment.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kThreadVariables[] = {"ATTUNE_THREADS", "OMP_NUM_THREADS", "OMP_THREAD_LIMIT"};

/// A dispatcher of this host over one table, with rows for one thread and for all threads.
class ThreadLimitTest : public testing::Test {
 protected:
  static GemmKey key(int64_t m) { return {.m = m, .n = 16, .k = 16, .in = DType::fp32, .out = DType::fp32}; }
  static std::string row(int64_t units, int64_t m, const std::string& block) {
    return fmt::format("{},{},{},16,16,torch.float32,torch.float32,1,portable.gemm@1:block={}\n",
                       find_device({.ids = "cpu:0"}).gfx, units, m, block);
  }
  void write(const std::string& rows) {
    write_file_atomically(table_, "gfx,cu_num,M,N,K,dtype,outdtype,us,kernelName\n" + rows);
  }
  Dispatcher& dispatcher() {
    if (!dispatcher_) {
      options_.tables["gemm_a16w16"] = {table_};
      dispatcher_ = std::make_unique<Dispatcher>(options_);
    }
    return *dispatcher_;
  }
  void SetUp() override {
    if (all_ < 2) GTEST_SKIP() << "one core: there is no lower limit";
  }

  TestEnvironment unlimited_{kThreadVariables};
  const int64_t all_ = find_device({.ids = "cpu:0"}).num_units;
  TestFolder folder_;
  std::filesystem::path table_ = folder_.path() / "t.csv";
  DispatcherOptions options_{.poll_interval = std::chrono::milliseconds(0)};
  std::unique_ptr<Dispatcher> dispatcher_;
};

TEST_F(ThreadLimitTest, RowsForThatManyThreadsServeAndNoOthers) {
  write(row(all_, 4, "4x4") + row(1, 4, "1x4") + row(1, 5, "2x4"));
  EXPECT_EQ(dispatcher().threads(), all_);
  EXPECT_EQ(dispatcher().require(key(4)).match, Match::exact);
  EXPECT_THAT(dispatcher().explain(key(4)), HasSubstr("t.csv:2 portable.gemm@1:block=4x4"));
  EXPECT_NE(dispatcher().choose(key(5)).match, Match::exact);
  EXPECT_EQ(dispatcher().set_threads(1), 1);
  EXPECT_EQ(dispatcher().threads(), 1);
  EXPECT_EQ(dispatcher().require(key(4)).match, Match::exact);
  EXPECT_THAT(dispatcher().explain(key(4)), HasSubstr("t.csv:3 portable.gemm@1:block=1x4"));
  EXPECT_EQ(dispatcher().require(key(5)).match, Match::exact);
}

TEST_F(ThreadLimitTest, AChangeCostsAKnownShapeNoPlan) {
  write(row(all_, 4, "4x4") + row(1, 4, "1x4"));
  const Plan* const of_all = dispatcher().require(key(4)).plan;
  dispatcher().set_threads(1);
  const Plan* const of_one = dispatcher().require(key(4)).plan;
  EXPECT_NE(of_one, of_all);
  const uint64_t num_plans = dispatcher().counts().plans;
  for (int i = 0; i < 10; ++i) {
    dispatcher().set_threads(i % 2 == 0 ? 0 : 1);
    const Hit hit = dispatcher().choose(key(4));
    EXPECT_EQ(hit.plan, i % 2 == 0 ? of_all : of_one);
    EXPECT_FALSE(hit.is_stand_in);
  }
  EXPECT_EQ(dispatcher().counts().plans, num_plans);
}

TEST_F(ThreadLimitTest, ADefaultConfigRunsOnNoMoreThreads) {
  write("");
  const std::vector<float> ones(16 * 16, 1.0F);
  std::vector<float> sums(16 * 16);
  const auto run = [&] {
    std::fill(sums.begin(), sums.end(), 0.0F);
    void* const operands[] = {const_cast<float*>(ones.data()), const_cast<float*>(ones.data()), sums.data()};
    dispatcher().run(key(16), operands);
    EXPECT_THAT(sums, testing::Each(16.0F));
  };
  const Plan* const of_all = dispatcher().require(key(16)).plan;
  run();
  dispatcher().set_threads(1);
  EXPECT_NE(dispatcher().require(key(16)).plan, of_all) << "it was made for all threads";
  run();
}

TEST_F(ThreadLimitTest, IsTheLeastOfWhatEnvironmentAndCallerSet) {
  write("");
  options_.threads = 1;
  EXPECT_EQ(dispatcher().threads(), 1);
  EXPECT_EQ(dispatcher().set_threads(0), all_) << "no limit but the process's own";
  EXPECT_EQ(dispatcher().set_threads(1'000'000), all_);
  EXPECT_THROW(dispatcher().set_threads(-1), Error);
  EXPECT_EQ(dispatcher().threads(), all_);
  for (const char* variable : kThreadVariables) {
    const TestEnvironment one(variable, "1");
    options_.threads = 0;
    dispatcher_.reset();
    EXPECT_EQ(dispatcher().threads(), 1) << variable;
    EXPECT_EQ(dispatcher().set_threads(2), 1) << variable;
  }
}

TEST_F(ThreadLimitTest, ALimitThatNoCallWasMadeUnderIsNotReported) {
  if (all_ < 2) GTEST_SKIP() << "one core: there is no second limit";
  write(row(1, 4, "4x4"));
  testing::internal::CaptureStderr();
  dispatcher().set_threads(1);  // As PyTorch does before its first product.
  dispatcher().require_row(key(4));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  testing::internal::CaptureStderr();
  dispatcher().set_threads(0);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("the tables have no row for"));
}

TEST_F(ThreadLimitTest, ALimitWithoutRowsIsReportedWithTheCommand) {
  write(row(all_, 4, "4x4"));
  testing::internal::CaptureStderr();
  dispatcher().set_threads(1);
  dispatcher().set_threads(0);
  dispatcher().set_threads(1);
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      fmt::format("attune: the tables have no row for 1 thread, only for {}: tune with `attune tune --threads 1`\n",
                  all_));
}

TEST_F(ThreadLimitTest, AChangedTableIsSeenUnderEveryLimit) {
  write(row(all_, 4, "4x4") + row(1, 4, "1x4"));
  dispatcher().require(key(4));
  dispatcher().set_threads(1);
  dispatcher().require(key(4));
  write(row(all_, 4, "2x4") + row(1, 4, "4x4"));
  EXPECT_TRUE(dispatcher().reload());
  EXPECT_EQ(dispatcher().counts().reloads, 1u);
  EXPECT_THAT(dispatcher().explain(key(4)), HasSubstr("block=4x4"));
  dispatcher().set_threads(0);
  EXPECT_THAT(dispatcher().explain(key(4)), HasSubstr("block=2x4"));
}

TEST_F(ThreadLimitTest, PackedWeightsServeUnderEveryLimit) {
  write("");
  GemmKey packed = key(4);
  packed.flags = GemmKey::bpreshuffle;
  const std::vector<float> ones(16 * 16, 1.0F);
  const Weights weights = dispatcher().pack_weights(packed, ones.data());
  std::vector<float> sums(4 * 16);
  for (const int threads : {0, 1, 0}) {
    dispatcher().set_threads(threads);
    void* const operands[] = {const_cast<float*>(ones.data()), sums.data()};
    std::fill(sums.begin(), sums.end(), 0.0F);
    dispatcher().run(packed, weights, operands);
    EXPECT_THAT(sums, testing::Each(16.0F)) << threads;
  }
}

TEST(ThreadLimit, OfAnotherDeviceIsItsUnits) {
  Dispatcher dispatcher({.device = "fake:0"});
  EXPECT_EQ(dispatcher.threads(), 4);
  EXPECT_EQ(dispatcher.set_threads(1), 4);
  EXPECT_THAT(dispatcher.notices(), IsEmpty());
}

}  // namespace
}  // namespace attune
