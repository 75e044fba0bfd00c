// SPDX-License-Identifier: MIT
#include "fleet/slurm/squeue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/error.h"
#include "base/file.h"

namespace attune {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

std::string jobs_text(const std::string& jobs) { return R"({"meta": {"a": [1]}, "jobs": [)" + jobs + "]}"; }

TEST(Squeue, ReadsWhatSlurm2205Prints) {
  const auto text = read_file(ATTUNE_SOURCE_DIR "/tests/data/slurm/squeue_22.05.json");
  const auto jobs = parse_squeue(text, "attune:1");
  ASSERT_THAT(jobs, SizeIs(2)) << "the third has another comment";
  EXPECT_EQ(jobs[0].shown_id(), "1_0");
  EXPECT_EQ(jobs[0].phase(), SlurmPhase::running);
  EXPECT_FALSE(jobs[0].has_ended_well());
  EXPECT_EQ(jobs[0].name, "attune-1-eval");
  EXPECT_EQ(jobs[0].user, "alice");
  EXPECT_EQ(jobs[0].node, "n1");
  EXPECT_EQ(jobs[0].reason, "");
  EXPECT_EQ(jobs[0].num_restarts, 0);
  EXPECT_EQ(jobs[1].shown_id(), "2_[2-200]");
  EXPECT_EQ(jobs[1].id, 2);
  EXPECT_EQ(jobs[1].phase(), SlurmPhase::waiting);
  EXPECT_EQ(jobs[1].reason, "Resources");
}

TEST(Squeue, ReadsNumbersAsObjectsAndStatesAsLists) {
  const auto jobs = parse_squeue(
      jobs_text(R"({"comment": "m", "job_id": 9, "array_job_id": {"set": true, "infinite": false, "number": 8},
                    "array_task_id": {"set": true, "infinite": false, "number": 3}, "job_state": ["RUNNING", 7, "X"],
                    "restart_cnt": 2})"),
      "m");
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].shown_id(), "8_3");
  EXPECT_EQ(jobs[0].state, "RUNNING+X");
  EXPECT_EQ(jobs[0].phase(), SlurmPhase::running);
  EXPECT_EQ(jobs[0].num_restarts, 2);
}

TEST(Squeue, AFlagOfAStateSaysMoreThanTheStateItself) {
  for (const auto& [state, phase] :
       {std::pair("RUNNING", SlurmPhase::running), std::pair("RUNNING+CONFIGURING", SlurmPhase::starting),
        std::pair("CONFIGURING", SlurmPhase::starting), std::pair("SUSPENDED", SlurmPhase::stopped),
        std::pair("PENDING+REQUEUED", SlurmPhase::waiting), std::pair("REQUEUED", SlurmPhase::waiting),
        std::pair("PENDING+COMPLETING+REQUEUED", SlurmPhase::ending), std::pair("COMPLETING", SlurmPhase::ending),
        std::pair("RUNNING+SIGNALING", SlurmPhase::running), std::pair("OUT_OF_MEMORY", SlurmPhase::ended),
        std::pair("", SlurmPhase::unknown), std::pair("NEW_IN_2030", SlurmPhase::unknown)}) {
    SlurmJob job;
    job.state = state;
    EXPECT_EQ(job.phase(), phase) << state;
  }
}

TEST(Squeue, AJobMayHaveEnded) {
  for (const auto& [state, has_ended_well] :
       {std::pair("COMPLETED", true), std::pair("CANCELLED", true), std::pair("FAILED", false), std::pair("", false)}) {
    const auto jobs =
        parse_squeue(jobs_text(std::string(R"({"comment": "m", "job_id": 9, "job_state": ")") + state + R"("})"), "m");
    ASSERT_THAT(jobs, SizeIs(1));
    EXPECT_EQ(jobs[0].has_ended_well(), has_ended_well) << state;
    EXPECT_NE(jobs[0].phase(), SlurmPhase::running) << state;
    EXPECT_NE(jobs[0].phase(), SlurmPhase::waiting) << state;
  }
}

TEST(Squeue, AJobWithoutAnArrayHasItsOwnNumber) {
  const auto jobs = parse_squeue(jobs_text(R"({"comment": "m", "job_id": 9, "array_job_id": 0,
                                               "array_task_id": {"set": false, "number": 0}})"),
                                 "m");
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].shown_id(), "9");
}

TEST(Squeue, HostileMembersCountAsAbsent) {
  for (const char* job :
       {R"(7)", R"([])", R"({})", R"({"comment": "m"})", R"({"comment": "m", "job_id": "9"})",
        R"({"comment": "m", "job_id": 18446744073709551615})", R"({"comment": "m", "job_id": -4})",
        R"({"comment": "m", "job_id": 1e300})", R"({"comment": ["m", 1], "job_id": {"number": {"number": 1}}})",
        R"({"comment": {"m": 1}, "job_id": 9})", R"({"comment": "m\u0000", "job_id": 9})"})
    EXPECT_THAT(parse_squeue(jobs_text(job), "m"), IsEmpty()) << job;
  const auto jobs =
      parse_squeue(jobs_text(R"({"comment": "m", "job_id": 9, "job_state": {"a": 1}, "nodes": [[]]})"), "m");
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].state, "");
  EXPECT_EQ(jobs[0].node, "");
}

TEST(Squeue, RefusesWhatIsNoListOfJobs) {
  for (const std::string& text :
       {std::string(), std::string("slurm_load_jobs error: Unable to contact slurm controller"), std::string("[]"),
        std::string("{}"), std::string(R"({"jobs": 1})"), std::string(R"({"jobs": [)"), std::string("\xff\xfe"),
        std::string(1'000'000, '['), "{\"jobs\": " + std::string(1'000'000, '[')})
    EXPECT_THROW(parse_squeue(text, "m"), Error) << text.substr(0, 40);
}

TEST(Squeue, DeepValuesAreSkipped) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  const auto jobs =
      parse_squeue(jobs_text(R"({"comment": "m", "x": )" + deep + R"(, "nodes": )" + deep + R"(, "job_id": 9})"), "m");
  EXPECT_THAT(jobs, SizeIs(1));
}

}  // namespace
}  // namespace attune
