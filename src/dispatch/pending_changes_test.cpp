// SPDX-License-Identifier: MIT
#include "dispatch/pending_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const CompileTask kTask{.compiler = "hostcc", .source = "int f;", .arch = "any", .options = {}, .entries = {"f"}};
const WantedKernel kWanted{2, "gemm m=1", "jit@1:a=1"};

Binary binary_of(const CompileTask& task) {
  return {.arch = task.arch, .recipe = task.recipe(), .toolchain = "gcc-12", .sha256 = "", .file = "", .metadata = {}};
}

std::vector<std::string> exchange(PendingChanges& held, std::vector<ServingReport> others) {
  others.insert(others.begin(), held.report("", ""));
  return held.note_exchange(others);
}

TEST(PendingChanges, AWishIsQueuedOnceAndReportedUntilItIsSettled) {
  PendingChanges held({});
  for (int i = 0; i < 2; ++i) held.want(kWanted, {kTask});
  EXPECT_THAT(held.take_work(), ElementsAre(kTask));
  EXPECT_THAT(held.take_work(), IsEmpty());
  held.note_compiled(binary_of(kTask));
  EXPECT_THAT(held.report("", "").wanted, ElementsAre(kWanted)) << "another rank may not have it yet";
  EXPECT_THAT(held.report("", "").kernels, ElementsAre(CommonKernel{kTask.recipe(), "gcc-12"}));
  held.agreed().set({{kTask.recipe(), "gcc-12"}}, {});
  EXPECT_THAT(held.report("", "").wanted, IsEmpty());
}

TEST(PendingChanges, OfAnotherRanksWishNothingIsReportedButTheKernel) {
  PendingChanges held({});
  held.want_for_others(kWanted, {kTask});
  EXPECT_THAT(held.take_work(), SizeIs(1));
  EXPECT_THAT(held.report("", "").wanted, IsEmpty());
  EXPECT_TRUE(held.has_seen(kWanted));
}

TEST(PendingChanges, AFailureIsForgottenWithTheTables) {
  PendingChanges held({});
  held.want(kWanted, {kTask});
  held.note_failure(kTask.recipe(), "no room");
  EXPECT_EQ(held.failure_of(std::array{kTask}), "no room");
  EXPECT_THAT(held.report("", "").failed, ElementsAre(kTask.recipe()));
  held.set_tables("next");
  EXPECT_EQ(held.failure_of(std::array{kTask}), std::nullopt);
  EXPECT_FALSE(held.has_seen(kWanted)) << "it is tried again";
}

TEST(PendingChanges, OnlyWhatWasReportedIsNoNewsAfterwards) {
  PendingChanges held({});
  held.note_answer({1, "gemm m=1", "a@1:x=1"});
  const ServingReport report = held.report("", "");
  EXPECT_TRUE(held.has_news());
  held.note_answer({1, "gemm m=2", "a@1:x=1"});
  held.note_exchange(std::array{report});
  EXPECT_THAT(held.report("", "").answers, ElementsAre(ServedShape{1, "gemm m=2", "a@1:x=1"}));
  EXPECT_TRUE(held.has_news());
  exchange(held, {});
  EXPECT_THAT(held.report("", "").answers, IsEmpty());
  EXPECT_FALSE(held.has_news());
  held.note_answer({1, "gemm m=2", "a@1:x=1"});
  held.report("", "");
  EXPECT_FALSE(held.has_news()) << "the answer is known";
}

TEST(PendingChanges, AShapeThatRanksServeOtherwiseIsNamedWheneverEachCallsIt) {
  PendingChanges held({});
  const auto of_other = [](const std::string& candidate, int64_t units = 2) {
    return std::vector<ServingReport>{{.answers = {{units, "gemm m=1", candidate}}}};
  };
  held.note_answer({2, "gemm m=1", "a@1:x=1"});
  EXPECT_THAT(exchange(held, {{}}), IsEmpty());
  EXPECT_THAT(exchange(held, of_other("b@1:x=1", 1)), IsEmpty()) << "under another thread limit";
  EXPECT_THAT(exchange(held, of_other("a@1:x=1")), IsEmpty());
  EXPECT_THAT(exchange(held, of_other("b@1:x=1")),
              ElementsAre("gemm m=1 is served by a@1:x=1 on rank 0 and by b@1:x=1 on rank 1"));
  held.forget_answers();
  EXPECT_THAT(exchange(held, of_other("c@1:x=1")), IsEmpty()) << "other answers may be given since";
}

}  // namespace
}  // namespace attune
