// SPDX-License-Identifier: MIT
#include "tables/row_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "device/fake/fake_device.h"
#include "measure/contenders.h"
#include "measure/local_executor.h"
#include "process/temporary_folder.h"
#include "solver/contender.h"
#include "solver/registry.h"
#include "testing/campaign_values.h"
#include "testing/table_values.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::HasSubstr;

/// Checks rows on the fake device, in this process.
class RowCheckTest : public testing::Test {
 protected:
  RowCheckTest() {
    row_.problem = Problem::parse("gemm_a16w16 m=1 n=32 k=48 dtype=fp32");
    row_.kernel = default_candidate(test_problem(1), contenders(executor_, test_problem(1), {}))->name();
    row_.us = 1e6;
  }
  CheckStatus check() {
    check_row(row_, executor_, nullptr, options_);
    return row_.status;
  }

  FakeDevice device_;
  LocalExecutor executor_{device_, registry()};
  RowCheckOptions options_{.limits = {Milliseconds(1000), Milliseconds(1000)}};
  CheckedRow row_;
};

TEST_F(RowCheckTest, ARightRowIsTimed) {
  EXPECT_EQ(check(), CheckStatus::ok);
  EXPECT_EQ(row_.reason, "");
  EXPECT_GT(row_.comparison.us, 0);
}

TEST_F(RowCheckTest, NothingIsTimedWithoutARun) {
  options_.run = false;
  EXPECT_EQ(check(), CheckStatus::loaded);
  EXPECT_EQ(row_.comparison.us, 0);
}

TEST_F(RowCheckTest, NothingIsTimedForCorrectnessAlone) {
  options_.verify_only = true;
  EXPECT_EQ(check(), CheckStatus::ok);
  EXPECT_EQ(row_.comparison.us, 0);
}

TEST_F(RowCheckTest, ARowOfAnotherDeviceStaysUnchecked) {
  row_.status = CheckStatus::foreign;
  row_.reason = "made on another model: Another";
  EXPECT_EQ(check(), CheckStatus::foreign);
  EXPECT_EQ(row_.reason, "made on another model: Another");
  EXPECT_EQ(row_.comparison.us, 0);
}

TEST_F(RowCheckTest, ARightRowThatNoLookupTakesIsNotCalledRight) {
  row_.why_not_taken = "has a _tag: slow_boot";
  EXPECT_EQ(check(), CheckStatus::not_taken);
  EXPECT_EQ(row_.reason, "has a _tag: slow_boot");
  EXPECT_GT(row_.comparison.us, 0) << "it is checked all the same";
  row_.reason.clear();
  row_.kernel = "fake.gemm@0:tile_m=16";
  EXPECT_EQ(check(), CheckStatus::unusable);
}

TEST_F(RowCheckTest, AStopEndsTheRunOfARow) {
  size_t num_ticks = 0;
  options_.tick = [&] { return ++num_ticks > 0; };
  check();
  EXPECT_EQ(row_.comparison.us, 0);
  EXPECT_EQ(num_ticks, 1u) << "what follows an aborted request is not begun";
}

TEST_F(RowCheckTest, AKernelThatCannotRunHereIsUnusable) {
  row_.kernel = "fake.gemm@0:tile_m=16";
  EXPECT_EQ(check(), CheckStatus::unusable);
  EXPECT_THAT(row_.reason, HasSubstr("made with fake.gemm 0"));
  row_.kernel = "_ZN5aiter";
  row_.reason.clear();
  EXPECT_EQ(check(), CheckStatus::unusable);
}

/// Results in YAML need no time; a table's row without one has its reason before the check.
TEST_F(RowCheckTest, AResultWithoutATimeIsVerifiedAndTimed) {
  row_.us.reset();
  EXPECT_EQ(check(), CheckStatus::ok) << row_.reason;
  EXPECT_GT(row_.comparison.us, 0);
}

TEST_F(RowCheckTest, AKernelOfAnyVersionIsThatOfThisProgram) {
  Candidate any = Candidate::parse(row_.kernel);
  any.version = kAnyVersion;
  row_.kernel = any.name();
  EXPECT_EQ(check(), CheckStatus::ok) << row_.reason;
}

TEST(RowsToCheck, OfTheScriptNameItsKernelOrSayWhyThereIsNone) {
  const TemporaryFolder folder("row-check-test");
  const auto file = folder.path() / "old.yaml";
  write_file_atomically(
      file,
      "- {M: 1, N: 2, K: 3, BLOCK_SIZE_M: 16, BLOCK_SIZE_N: 32, BLOCK_SIZE_K: 64, GROUP_SIZE_M: 1, SPLIT_K: 2, "
      "num_warps: 4, num_stages: 2, waves_per_eu: 0, kpack: 2}\n"
      "- {M: 1, N: 2, K: 3, BLOCK_SIZE_M: 16, NUM_SMS: 304}\n"
      "- {M: 1, N: 2, K: 3, BLOCK_SIZE_M: 16}\n");
  std::vector<std::string> notices;
  const auto rows = read_rows_to_check(file, "", FakeDevice().info(), notices);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].kernel,
            "triton.gemm@any:BLOCK_SIZE_K=64;BLOCK_SIZE_M=16;BLOCK_SIZE_N=32;GROUP_SIZE_M=1;SPLIT_K=2;num_stages=2;num_"
            "warps=4");
  EXPECT_EQ(rows[0].reason, "");
  EXPECT_THAT(rows[1].reason, HasSubstr("stream-K"));
  EXPECT_EQ(rows[2].reason, "it names no candidate that this program knows");
  EXPECT_THAT(notices, testing::ElementsAre(testing::EndsWith("checked without them: kpack, waves_per_eu")));
}

TEST(RowsToCheck, OfTheScriptWhoseParametersCannotBeAreUnusable) {
  const TemporaryFolder folder("row-check-test");
  const auto file = folder.path() / "old.yaml";
  const std::pair<const char*, const char*> cases[] = {
      {"BLOCK_SIZE_M: 48, SPLIT_K: 1", "BLOCK_SIZE_M must be a power of two, got '48'"},
      {"BLOCK_SIZE_M: 16, SPLIT_K: 4", "SPLIT_K must be at most K, got '4'"},
      {"BLOCK_SIZE_M: many, SPLIT_K: 1", "BLOCK_SIZE_M must be a whole number from 1, got 'many'"},
      {"BLOCK_SIZE_M: 16, SPLIT_K: 0", "SPLIT_K must be a whole number from 1, got '0'"},
      {"BLOCK_SIZE_M: 16, SPLIT_K: 3", ""}};
  std::string text;
  for (const auto& [parameters, why] : cases) {
    text += fmt::format(
        "- {{M: 1, N: 2, K: 3, {}, BLOCK_SIZE_N: 32, BLOCK_SIZE_K: 64, GROUP_SIZE_M: 1, num_warps: 4, num_stages: "
        "0}}\n",
        parameters);
  }
  write_file_atomically(file, text);
  std::vector<std::string> notices;
  const auto rows = read_rows_to_check(file, "", FakeDevice().info(), notices);
  ASSERT_EQ(rows.size(), std::size(cases));
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].reason, cases[i].second);
    EXPECT_EQ(rows[i].status, CheckStatus::unusable);
    EXPECT_EQ(rows[i].place, fmt::format("{}:{}", file.string(), i + 1));
  }
}

TEST_F(RowCheckTest, ARowOfALayoutThatItsKernelDoesNotReadIsUnusable) {
  for (const char* right : {"", "plain"}) {
    row_.layout = right;
    options_.run = false;
    EXPECT_EQ(check(), CheckStatus::loaded) << right;
  }
  row_.layout = "wibble";
  EXPECT_EQ(check(), CheckStatus::unusable);
  EXPECT_EQ(row_.reason, "its kernel reads weights in the layout 'plain', not in 'wibble', which is no known layout");
}

/// Reads what is checked on table_device() of model A.
std::vector<CheckedRow> rows_to_check(const std::string& files) {
  DeviceInfo device = table_device();
  device.model = "A";
  std::vector<std::string> notices;
  return read_rows_to_check(files, "", device, notices);
}

TEST(RowsToCheck, AnUnusableTimeIsQuotedAndEachRowHasItsPlace) {
  const TestFolder folder;
  const auto a = folder.put("a_bf16_tuned_gemm.csv", test_text({test_row(1, "banana"), test_row(2, "1e308")}));
  const auto b = folder.put("b_bf16_tuned_gemm.csv", test_text({test_row(3, "2") + ",wibble"}, ",layout"));
  const auto rows = rows_to_check(a.string() + ":" + b.string());
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].reason, "column 'us' expects a time in µs from 1e-09 to 1e+18, got 'banana'");
  EXPECT_EQ(rows[1].reason, "column 'us' expects a time in µs from 1e-09 to 1e+18, got '1e308'");
  EXPECT_EQ(rows[1].place, a.string() + ":3");
  EXPECT_EQ(rows[2].reason, "");
  EXPECT_EQ(rows[2].place, b.string() + ":2");
  EXPECT_EQ(rows[2].layout, "wibble");
}

TEST(RowsToCheck, RowsOfOtherDevicesAndModelsAreForeign) {
  const TestFolder folder;
  const auto file = folder.put("bf16_tuned_gemm.csv", test_text({test_row(1, "1", kTestKernel, "gfx942,304") + ",",
                                                                 test_row(2, "1") + ",B", test_row(3, "1") + ",A"},
                                                                ",device"));
  const auto rows = rows_to_check(file.string());
  EXPECT_EQ(rows[0].status, CheckStatus::foreign);
  EXPECT_EQ(rows[0].reason, "made on gfx942/304");
  EXPECT_EQ(rows[1].status, CheckStatus::foreign);
  EXPECT_EQ(rows[1].reason, "made on another model: B");
  EXPECT_NE(rows[2].status, CheckStatus::foreign);
}

TEST(RowsToCheck, ThatCannotBeReadStandAmongTheOthers) {
  const TestFolder folder;
  const auto file = folder.put("bf16_tuned_gemm.csv",
                               test_text({test_row(1, "1") + ",", test_row(2, "1") + ",nan", test_row(3, "1") + ",0",
                                          test_row(4, "1", kTestKernel, "gfx942,304") + ",nan"},
                                         ",out_scale"));
  auto rows = rows_to_check(file.string());
  ASSERT_EQ(rows.size(), 4u);
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].line, i + 2);
  EXPECT_EQ(rows[1].status, CheckStatus::unusable);
  EXPECT_EQ(rows[1].reason, "column 'out_scale' expects True or False, got 'nan'");
  EXPECT_EQ(rows[2].problem.integer("m"), 3);
  EXPECT_EQ(rows[2].reason, "");
  EXPECT_EQ(rows[3].status, CheckStatus::foreign);
  EXPECT_EQ(rows[3].reason, "made on gfx942/304, and column 'out_scale' expects True or False, got 'nan'");
}

TEST(RowsToCheck, WhatNoLookupTakesSaysWhy) {
  const TestFolder folder;
  const auto file =
      folder.put("bf16_tuned_gemm.csv",
                 test_text({test_row(1, "3") + ",", test_row(1, "2") + ",", test_row(1, "1") + ",slow_boot"}, ",_tag"));
  const auto rows = rows_to_check(file.string());
  EXPECT_EQ(rows[0].why_not_taken, "is slower than another row of its file: " + file.string() + ":3 wins, 2 µs");
  EXPECT_EQ(rows[1].why_not_taken, "");
  EXPECT_EQ(rows[2].why_not_taken, "has a _tag: slow_boot");
}

TEST_F(RowCheckTest, AReasonGivenBeforeTheCheckIsKept) {
  row_.reason = "it names no candidate that this program knows";
  EXPECT_EQ(check(), CheckStatus::unusable);
  EXPECT_EQ(row_.reason, "it names no candidate that this program knows");
}

TEST_F(RowCheckTest, AConfigThatItsOwnSolverDoesNotOfferIsUnusable) {
  row_.kernel += ";no_such_parameter=1";
  EXPECT_EQ(check(), CheckStatus::unusable);
  EXPECT_THAT(row_.reason, HasSubstr("no_such_parameter"));
}

TEST_F(RowCheckTest, AKernelSlowerThanTheDefaultIsFoundWithinTheLimit) {
  row_.kernel = "fake.gemm@1:split_k=4;tile_m=128;tile_n=16";
  options_.max_slowdown_pct = 0.5;
  EXPECT_EQ(check(), CheckStatus::slower_than_baseline);
  EXPECT_LT(row_.comparison.interval.high, 1);
  row_.reason.clear();
  options_.max_slowdown_pct = 1000;
  EXPECT_EQ(check(), CheckStatus::ok);
}

TEST_F(RowCheckTest, OfARowWithoutACleanSampleNothingIsKnown) {
  FakeDevice disturbed(FakeNoise{.slow_clock_share = 1});
  LocalExecutor executor(disturbed, registry());
  row_.kernel = "fake.gemm@1:split_k=4;tile_m=128;tile_n=16";  // Not the default.
  check_row(row_, executor, nullptr, options_);
  EXPECT_EQ(row_.status, CheckStatus::unknown);
  EXPECT_EQ(row_.comparison.ratio, 0);
}

TEST_F(RowCheckTest, AKernelSlowerThanItsRowStatesIsFoundWithinTheLimit) {
  check();
  row_.us = row_.comparison.us / 1.4;
  EXPECT_EQ(check(), CheckStatus::slower_than_stated);
  EXPECT_EQ(row_.reason, "in both runs");
  row_.reason.clear();
  options_.slower_than_pct = 60;
  EXPECT_EQ(check(), CheckStatus::ok);
}

TEST(CheckCounts, PassIfARowWasCheckedAndNoneIsSuspectOrUnusable) {
  CheckCounts counts;
  EXPECT_FALSE(counts.passed());
  counts.add(CheckStatus::foreign);
  EXPECT_FALSE(counts.passed()) << "nothing was checked";
  counts.add(CheckStatus::loaded);
  EXPECT_TRUE(counts.passed());
  counts.add(CheckStatus::not_taken);
  EXPECT_TRUE(counts.passed()) << "it does no harm";
  CheckCounts with_unknown = counts;
  with_unknown.add(CheckStatus::unknown);
  EXPECT_TRUE(with_unknown.passed());
  EXPECT_FALSE(with_unknown.passed(true)) << "strictly";
  EXPECT_TRUE(counts.passed(true));
  for (const auto bad : {CheckStatus::wrong, CheckStatus::unusable, CheckStatus::slower_than_baseline,
                         CheckStatus::slower_than_stated}) {
    CheckCounts with_bad = counts;
    with_bad.add(bad);
    EXPECT_FALSE(with_bad.passed()) << name(bad);
  }
}

TEST(CheckCounts, AreSuspectOrUncheckedOrNeither) {
  CheckCounts counts;
  EXPECT_FALSE(counts.is_checked());
  counts.add(CheckStatus::foreign);
  counts.add(CheckStatus::unusable);
  EXPECT_FALSE(counts.is_checked());
  EXPECT_FALSE(counts.is_suspect());
  counts.add(CheckStatus::ok);
  EXPECT_TRUE(counts.is_checked());
  counts.add(CheckStatus::not_taken);
  EXPECT_EQ(counts.text(), "1 ok, 1 not taken, 1 foreign device, 1 unusable");
  EXPECT_EQ(counts.all(), 4u);
  counts.add(CheckStatus::slower_than_stated);
  EXPECT_TRUE(counts.is_suspect());
}

}  // namespace
}  // namespace attune
