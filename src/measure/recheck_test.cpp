// SPDX-License-Identifier: MIT
// Candidates that are right when they are admitted, and wrong after they were timed.
#include <gmock/gmock.h>

#include <cmath>

#include "testing/local_executor_fixture.h"

namespace attune {
namespace {

class Recheck : public LocalExecutorTest {
 protected:
  static constexpr const char* kShape = "gemm_a16w16 m=5 n=33 k=16 dtype=fp32";
  /// Times slots in a few rounds, as an opening does.
  void time(const std::vector<Slot>& slots) {
    std::vector<Turn> schedule;
    for (uint32_t round = 0; round < 8; ++round) {
      for (const Slot slot : slots) schedule.push_back({slot, round, 4});
    }
    const SampleAnswer sampled = sample(schedule);
    EXPECT_THAT(sampled.failed, testing::IsEmpty());
    EXPECT_EQ(sampled.samples.size(), schedule.size());
  }
  SampleAnswer recheck(const std::vector<Slot>& slots, uint32_t launches = 1) {
    std::vector<Turn> turns;
    for (const Slot slot : slots) turns.push_back({.slot = slot, .launches = launches});
    return attune::sample(*executor_, {std::move(turns), true});
  }
  /// Returns the result of rechecking a faulty candidate that was timed with two right ones.
  SampleAnswer recheck_of(const std::string& fault, uint32_t launches) {
    start();
    open(1, kShape);
    EXPECT_TRUE(admit(1, "fault=none;us=5").verified.ok());
    EXPECT_TRUE(admit(2, "fault=" + fault + ";us=5").verified.ok()) << "it is right at first";
    EXPECT_TRUE(admit(3, "fault=none;us=6").verified.ok());
    time({1, 2, 3});
    return recheck({1, 2, 3}, launches);
  }
};

TEST_F(Recheck, FindsWhatIsRightBeforeItIsTimedAndWrongAfterwards) {
  for (const std::string fault : {"late", "keyed_by_address", "after_another", "returns_late"}) {
    const SampleAnswer checked = recheck_of(fault, 1);
    ASSERT_EQ(checked.failed.size(), 1u) << fault;
    EXPECT_EQ(checked.failed.front().first, 2u) << fault;
    EXPECT_EQ(checked.failed.front().second.status, Status::wrong_result);
    EXPECT_THAT(checked.failed.front().second.detail,
                testing::HasSubstr("right before it was timed, and is wrong afterwards"));
    EXPECT_TRUE(checked.suspect) << fault;
  }
}

TEST_F(Recheck, FindsWhatIsWrongInEverySixteenthCallByCallsInARow) {
  const SampleAnswer checked = recheck_of("every_16th", 1 + kCallsInARow);
  ASSERT_EQ(checked.failed.size(), 1u);
  EXPECT_EQ(checked.failed.front().first, 2u);
}

TEST_F(Recheck, RightCandidatesStayAndAreTimedOnTheSameValuesAsBefore) {
  start();
  open(1, kShape);
  ASSERT_TRUE(admit(1, "fault=none;us=5").verified.ok());
  ASSERT_TRUE(admit(2, "fault=none;us=8;workspace=64").verified.ok());
  for (int i = 0; i < 2; ++i) {
    time({1, 2});
    const SampleAnswer checked = recheck({1, 2}, 1 + kCallsInARow);
    EXPECT_THAT(checked.failed, testing::IsEmpty());
    EXPECT_FALSE(checked.suspect);
    EXPECT_FALSE(checked.interrupted);
    EXPECT_GE(checked.launches, 2u * (1 + kCallsInARow));
  }
  EXPECT_GT(executor_->workers().time[Activity::recheck].wall_s, 0);
}

TEST_F(Recheck, TheOthersAreMadeAnewBesideOneThatIsWrong) {
  const SampleAnswer checked = recheck_of("late", 1);
  EXPECT_EQ(checked.epoch, 1u) << "the state of the process is suspect";
  time({1, 3});
  EXPECT_THAT(recheck({1, 3}).failed, testing::IsEmpty());
}

TEST(ReferenceCache, SomeOfALargeReferenceHasTheElementsOfTheWholeOne) {
  FakeDevice device;
  const Problem given = Problem::parse("gemm_a16w16 m=37 n=1003 k=300 dtype=fp32 bias=1");
  const Op& op = op_of(given);
  const Problem problem = op.normalise(given, device.info());
  ReferenceCache some(device, op, problem, 7), all(device, op, problem, 7);
  const TestData& part = some.get_some(Distribution::integers);
  const TestData& whole = all.get(Distribution::integers);
  ASSERT_GT(part.rows.size(), 1u);
  ASSERT_LT(part.rows.size() * part.columns.size(), 37u * 1003u) << "it would take too long";
  EXPECT_EQ(part.rows.back(), 36);
  EXPECT_EQ(part.columns.back(), 1002);
  for (size_t i = 0; i < part.rows.size(); ++i) {
    for (size_t j = 0; j < part.columns.size(); ++j) {
      const auto at = static_cast<size_t>(part.rows[i] * 1003 + part.columns[j]);
      const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
      const size_t own = i * part.columns.size() + j;
      ASSERT_TRUE(same(part.reference.values[own], whole.reference.values[at])) << i << ' ' << j;
      ASSERT_TRUE(same(part.reference.scales[own], whole.reference.scales[at])) << i << ' ' << j;
    }
  }
  EXPECT_EQ(&some.get_some(Distribution::integers), &part) << "it is kept";
  EXPECT_EQ(&all.get_some(Distribution::integers), &whole) << "what is there is used";
}

}  // namespace
}  // namespace attune
