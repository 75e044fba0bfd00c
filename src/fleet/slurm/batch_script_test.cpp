// SPDX-License-Identifier: MIT
#include "fleet/slurm/batch_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/error.h"

namespace attune {
namespace {

using testing::HasSubstr;
using testing::Not;

SlurmSubmission for_four_hours() {
  return {.session = 7,
          .mark = "attune:1f0c66d2:7",
          .time_s = 4 * 3600.0,
          .partition = {},
          .account = {},
          .logs = {},
          .program = "/opt/attune/bin/attune",
          .flags = {}};
}

AgentArray four_with_gpus() {
  return {.kind = "eval",
          .steps = {FleetStep::perf_eval, FleetStep::find_eval},
          .num_agents = 4,
          .num_cores = 8,
          .has_gpu = true};
}

TEST(BatchScript, IsAnArrayOfAgents) {
  EXPECT_EQ(batch_script(for_four_hours(), four_with_gpus()),
            "#!/bin/sh\n"
            "#SBATCH --job-name=attune-7-eval\n"
            "#SBATCH --comment=attune:1f0c66d2:7\n"
            "#SBATCH --array=0-3\n"
            "#SBATCH --time=240\n"
            "#SBATCH --nodes=1\n"
            "#SBATCH --ntasks=1\n"
            "#SBATCH --cpus-per-task=8\n"
            "#SBATCH --gres=gpu:1\n"
            "#SBATCH --requeue\n"
            "#SBATCH --open-mode=append\n"
            "#SBATCH --signal=B:TERM@120\n"
            "#SBATCH --export=ALL\n"
            "#SBATCH --output=attune-7-eval-%A_%a.log\n"
            "exec /opt/attune/bin/attune fleet run --session 7 --steps perf_eval,find_eval\n");
}

TEST(BatchScript, NamesPartitionAccountAndFolder) {
  SlurmSubmission submission = for_four_hours();
  submission.partition = "gpu,big";
  submission.account = "team-1";
  submission.logs = "/scratch/logs";
  const std::string script =
      batch_script(submission, {.kind = "compile", .steps = {FleetStep::perf_compile}, .is_alone = true});
  for (const char* line : {"#SBATCH --partition=gpu,big\n", "#SBATCH --account=team-1\n", "#SBATCH --exclusive\n",
                           "#SBATCH --output=/scratch/logs/attune-7-compile-%A_%a.log\n", "#SBATCH --array=0-0\n"})
    EXPECT_THAT(script, HasSubstr(line));
  EXPECT_THAT(script, Not(HasSubstr("gres")));
}

TEST(BatchScript, QuotesWordsOfTheShell) {
  SlurmSubmission submission = for_four_hours();
  submission.program = "/home/it's mine/attune";
  submission.flags = {"--journal", "$(touch x) `y` \"z\"", "--cache", ""};
  EXPECT_THAT(batch_script(submission, four_with_gpus()),
              HasSubstr("exec '/home/it'\\''s mine/attune' fleet run --session 7 --steps perf_eval,find_eval --journal "
                        "'$(touch x) `y` \"z\"' --cache ''\n"));
}

TEST(BatchScript, RefusesWhatSlurmReadsOtherwise) {
  for (const char* text : {"a b", "a\"b", "a'b", "a\nb", "a%j", "a;b", "$a", "-a", "a\\b", "ä"}) {
    for (std::string SlurmSubmission::*member :
         {&SlurmSubmission::partition, &SlurmSubmission::account, &SlurmSubmission::logs}) {
      SlurmSubmission submission = for_four_hours();
      submission.*member = text;
      EXPECT_THROW(batch_script(submission, four_with_gpus()), Error) << text;
    }
  }
}

TEST(BatchScript, RefusesLineEndsInWords) {
  SlurmSubmission submission = for_four_hours();
  submission.flags = {"a\n#SBATCH --uid=0"};
  EXPECT_THROW(batch_script(submission, four_with_gpus()), Error);
}

TEST(BatchScript, TimeIsInMinutesAndLeavesTimeToEnd) {
  SlurmSubmission submission = for_four_hours();
  submission.time_s = 301;
  EXPECT_THAT(batch_script(submission, four_with_gpus()), HasSubstr("#SBATCH --time=6\n"));
  for (const double time_s : {0.0, 299.0, -1.0, 1e12, std::numeric_limits<double>::quiet_NaN()}) {
    submission.time_s = time_s;
    EXPECT_THROW(batch_script(submission, four_with_gpus()), Error) << time_s;
  }
}

TEST(BatchScript, AMarkTellsStoresAndSessionsApart) {
  EXPECT_NE(slurm_mark("postgresql://a@b/c", 1), slurm_mark("postgresql://a@b/c", 2));
  EXPECT_NE(slurm_mark("postgresql://a@b/c", 1), slurm_mark("postgresql://a@b/d", 1));
  EXPECT_EQ(slurm_mark("postgresql://a@b/c", 1), slurm_mark("postgresql://a@b/c", 1));
}

}  // namespace
}  // namespace attune
