// SPDX-License-Identifier: MIT
#include "fleet/agent/patient_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/fleet/fake_job_queue.h"
#include "testing/tuner_doubles.h"

namespace attune {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class PatientQueueTest : public testing::Test {
 protected:
  PatientQueueTest() {
    for (const char* problem : {"one", "two"}) queue_.add(FleetStep::perf_eval, problem, "s");
  }
  FakeJobQueue queue_;
  SetClock clock_;
  std::string said_;
  PatientQueue patient_{queue_, 600, [this](const std::string& line) { said_ += line + "\n"; }, clock_};
  const ClaimFilter filter_{.session = 1, .steps = {FleetStep::perf_eval}, .agent = "me"};
};

TEST_F(PatientQueueTest, ResultsWaitWhileTheStoreIsAwayAndAreSentOnce) {
  const auto jobs = patient_.claim(filter_, 2);
  queue_.has_left = true;
  EXPECT_TRUE(patient_.commit(jobs.at(0), {}));
  EXPECT_TRUE(patient_.commit(jobs.at(1), {}));
  EXPECT_THAT(patient_.claim(filter_, 1), IsEmpty());
  EXPECT_THROW(patient_.renew(jobs), StoreAway);
  EXPECT_EQ(patient_.num_unsent(), 2u);
  EXPECT_TRUE(patient_.is_waiting());
  clock_.at_s += 60;
  queue_.has_left = false;
  patient_.tick();
  EXPECT_EQ(patient_.num_unsent(), 0u);
  EXPECT_EQ(queue_.num_commits, 2u);
  EXPECT_FALSE(patient_.is_waiting());
  EXPECT_THAT(said_, HasSubstr("results wait in the journal"));
  EXPECT_THAT(said_, HasSubstr("answers again after 1m"));
  patient_.tick();
  EXPECT_EQ(queue_.num_commits, 2u);
}

TEST_F(PatientQueueTest, AResultWhoseJobWasClaimedMeanwhileIsDiscardedAlone) {
  const auto jobs = patient_.claim(filter_, 2);
  queue_.has_left = true;
  for (const ClaimedJob& job : jobs) patient_.commit(job, {});
  queue_.has_left = false;
  queue_.lose(1);
  patient_.tick();
  EXPECT_EQ(patient_.num_late(), 1u);
  EXPECT_EQ(queue_.at(2).state, JobState::done);
  EXPECT_THAT(said_, HasSubstr("job 1 was given to another agent"));
}

TEST_F(PatientQueueTest, GivesUpAfterItsPatience) {
  patient_.claim(filter_, 1);
  queue_.has_left = true;
  const auto before = patient_.counts(filter_);
  EXPECT_EQ(before.leased, 0u) << "nothing was counted before";
  clock_.at_s += 599;
  EXPECT_TRUE(patient_.is_waiting());
  EXPECT_FALSE(patient_.is_given_up());
  clock_.at_s += 1;
  EXPECT_FALSE(patient_.is_waiting());
  EXPECT_TRUE(patient_.is_given_up());
  EXPECT_EQ(patient_.counts(filter_).leased, 0u);
  queue_.has_left = false;
  EXPECT_EQ(patient_.counts(filter_).leased, 1u);
  EXPECT_FALSE(patient_.is_given_up());
}

}  // namespace
}  // namespace attune
