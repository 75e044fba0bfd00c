// SPDX-License-Identifier: MIT
#include "dispatch/agreement/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>

#include "base/error.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ServingReport report(std::string serving, std::string waiting) {
  return {.settings = "as ever", .serving = std::move(serving), .waiting = std::move(waiting)};
}

const CommonKernel kFast{"fast", "gcc-12"}, kWide{"wide", "gcc-12"};

TEST(Agreement, TablesThatAllHaveReadServe) {
  const std::array reports = {report("", "new"), report("old", "new")};
  const Agreement agreed = agree(reports);
  EXPECT_EQ(agreed.tables, "new");
  EXPECT_THAT(agreed.differences, IsEmpty());
}

TEST(Agreement, WhatOneHasNotReadWaitsForIt) {
  const std::array reports = {report("old", "new"), report("old", "old"), report("old", "new")};
  const Agreement agreed = agree(reports);
  EXPECT_EQ(agreed.tables, "old");
  EXPECT_THAT(agreed.differences, ElementsAre(HasSubstr("changed tables wait, because rank 1 reads other tables")));
}

TEST(Agreement, WithoutCommonTablesNoRowsServe) {
  const std::array before_the_first = {report("", "mine"), report("", "theirs")};
  EXPECT_EQ(agree(before_the_first).tables, std::nullopt);
  const std::array one_is_new = {report("old", "new"), report("", "old")};
  EXPECT_EQ(agree(one_is_new).tables, std::nullopt);
  EXPECT_THAT(agree(one_is_new).differences, ElementsAre(HasSubstr("no rows serve, because rank 1 reads other")));
}

TEST(Agreement, OtherSettingsLeaveNoRows) {
  std::array reports = {report("old", "old"), report("old", "old")};
  reports[1].settings = "another requirement";
  const Agreement agreed = agree(reports);
  EXPECT_EQ(agreed.tables, std::nullopt);
  EXPECT_THAT(agreed.differences, ElementsAre(HasSubstr("rank 1 runs with another requirement, rank 0 with as ever")));
}

TEST(Agreement, AKernelServesOnceAllHaveIt) {
  std::array reports = {report("t", "t"), report("t", "t"), report("t", "t")};
  for (ServingReport& one : reports) one.kernels = {kFast};
  reports[0].kernels.push_back(kWide);
  reports[2].kernels.push_back(kWide);
  EXPECT_THAT(agree(reports).kernels, ElementsAre(kFast));
  reports[1].kernels.push_back({kWide.recipe, "clang-14"});
  EXPECT_THAT(agree(reports).kernels, ElementsAre(kFast)) << "another compiler's kernel adds in another order";
  reports[1].kernels.push_back(kWide);
  EXPECT_THAT(agree(reports).kernels, ElementsAre(kFast, kWide));
}

TEST(Agreement, AKernelThatFailsForOneServesNoneUntilTheTablesChange) {
  std::array reports = {report("t", "t"), report("t", "t")};
  reports[0].kernels = reports[1].kernels = {kFast, kWide};
  reports[1].failed = {"wide"};
  EXPECT_THAT(agree(reports).failed, ElementsAre("wide"));
  EXPECT_THAT(agree(reports).kernels, ElementsAre(kFast));
  for (ServingReport& one : reports) one.waiting = "next";
  EXPECT_THAT(agree(reports).failed, IsEmpty());
  EXPECT_THAT(agree(reports).kernels, ElementsAre(kFast, kWide));
}

TEST(Agreement, WhatOneWantsAllCompile) {
  std::array reports = {report("t", "t"), report("t", "t")};
  reports[1].wanted = {{2, "gemm m=1", "jit@1:a=1"}};
  EXPECT_THAT(agree(reports).wanted, ElementsAre(WantedKernel{2, "gemm m=1", "jit@1:a=1"}));
}

TEST(ServingReport, ItsTextIsReadAsItWasWritten) {
  ServingReport written = report("", "new tables");
  written.kernels = {kFast, kWide};
  written.failed = {"slow"};
  written.wanted = {{2, "gemm m=1 n=2", "jit@1:a=1;b=2"}};
  written.answers = {{1, "gemm m=3", "portable@1:block=4x4"}};
  const ServingReport read = ServingReport::parse(written.text());
  EXPECT_EQ(read.text(), written.text());
  EXPECT_EQ(read.serving, "");
  EXPECT_EQ(read.kernels, written.kernels);
  EXPECT_EQ(read.wanted, written.wanted);
  EXPECT_EQ(read.answers, written.answers);
}

TEST(ServingReport, AnotherTextIsRefused) {
  const std::string whole = report("a", "b").text();
  for (const std::string& text : {std::string(), std::string("hello\n"), whole.substr(0, whole.size() - 1),
                                  whole + "colour\tred\n", whole + "wanted\tmany\tproblem\tcandidate\n"})
    EXPECT_THROW(ServingReport::parse(text), Error) << text;
}

}  // namespace
}  // namespace attune
