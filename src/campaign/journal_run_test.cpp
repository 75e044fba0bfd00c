// SPDX-License-Identifier: MIT
#include "campaign/journal_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "attune/version.h"
#include "base/file.h"
#include "process/temporary_folder.h"
#include "testing/campaign_values.h"
#include "testing/environment.h"
#include "testing/journal_values.h"

namespace attune {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using testing::Pair;
using testing::SizeIs;
using testing::StartsWith;

class RunInAJournal : public testing::Test, protected JournalValues {
 protected:
  static std::vector<Entry> runs_of(const Journal& journal) { return all(journal, {.runs = true}); }
  /// The entries of a journal's file.
  static std::vector<Entry> runs_in(const std::filesystem::path& file) {
    return runs_of(*open_sql_journal_read_only(file));
  }
  static RunEnd end_in(const std::vector<Entry>& entries) { return std::get<RunEnd>(entries.back()); }

  std::unique_ptr<Journal> journal_ = open_memory_journal();
  DeviceInfo device_ = test_device();
  TemporaryFolder folder_{"journal_run_test"};
  TestEnvironment home_{"ATTUNE_HOME", (folder_.path() / "state").string()};
};

TEST_F(RunInAJournal, BeginsWithTheFactsOfProcessAndDevice) {
  const JournalRun run(*journal_, device_, 12);
  const auto entries = runs_of(*journal_);
  ASSERT_THAT(entries, SizeIs(1));
  const auto& begin = std::get<RunBegin>(entries.front());
  EXPECT_THAT(begin.command, Not(IsEmpty()));
  EXPECT_THAT(begin.command, Not(Contains("")));
  EXPECT_EQ(begin.version, kVersion);
  EXPECT_EQ(begin.pid, ::getpid());
  EXPECT_EQ(begin.num_problems, 12u);
  EXPECT_EQ(begin.device, device_.key());
  EXPECT_EQ(begin.fingerprint, device_.fingerprint());
  EXPECT_EQ(begin.description, device_.description());
  EXPECT_EQ(run.number(), stamps(*journal_, {.runs = true}).front().run);
}

TEST_F(RunInAJournal, RecordsVariablesThatLibrariesReadAndNoSecret) {
  const TestEnvironment variables[] = {{"OMP_PROC_BIND", "true"},  {"ATTUNE_NEW", "a=b"},    {"ATTUNE_API_TOKEN", "x"},
                                       {"MKL_PASSWORD", "x"},      {"CUDA_SSH_KEY", "x"},    {"BLIS_AUTH", "x"},
                                       {"HIP_CREDENTIALS", "x"},   {"OMP_SECRET", "x"},      {"GOMP_PRIVATE", "x"},
                                       {"EDITOR_OF_A_USER", "vi"}, {"XOMP_NUM_THREADS", "1"}};
  const JournalRun run(*journal_, device_);
  const auto environment = std::get<RunBegin>(runs_of(*journal_).front()).environment;
  EXPECT_THAT(environment, Contains(Pair("OMP_PROC_BIND", "true")));
  EXPECT_THAT(environment, Contains(Pair("ATTUNE_NEW", "a=b")));
  for (const char* name : {"ATTUNE_API_TOKEN", "MKL_PASSWORD", "CUDA_SSH_KEY", "BLIS_AUTH", "HIP_CREDENTIALS",
                           "OMP_SECRET", "GOMP_PRIVATE", "EDITOR_OF_A_USER", "XOMP_NUM_THREADS"})
    EXPECT_THAT(environment, Not(Contains(Key(name))));
}

TEST_F(RunInAJournal, EndsOnceWithItsStatusAndVersions) {
  {
    JournalRun run(*journal_, device_);
    run.end("interrupted", 130, {{"fake.gemm", "1"}});
    run.end("done", 0);
  }
  const auto entries = runs_of(*journal_);
  ASSERT_THAT(entries, SizeIs(2));
  EXPECT_EQ(end_in(entries), (RunEnd{"interrupted", 130, {{"fake.gemm", "1"}}}));
}

TEST_F(RunInAJournal, ThatIsNotEndedHasFailed) {
  { const JournalRun run(*journal_, device_); }
  const auto entries = runs_of(*journal_);
  ASSERT_THAT(entries, SizeIs(2));
  EXPECT_EQ(end_in(entries), (RunEnd{"failed", -1, {}}));
}

TEST_F(RunInAJournal, IsRecordedInTheJournalThatAnOptionNames) {
  const auto file = folder_.path() / "named.db";
  JournalRun(file.string(), device_).end("done", 0);
  EXPECT_EQ(end_in(runs_in(file)).ending, "done");
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "state"));
}

TEST_F(RunInAJournal, DoesNotMakeTheUsersJournal) {
  JournalRun run("", device_);
  EXPECT_EQ(run.number(), 0);
  run.end("done", 0);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "state"));
}

TEST_F(RunInAJournal, IsRecordedInTheUsersJournalThatExists) {
  const auto file = folder_.path() / "state" / "journal.db";
  static_cast<void>(open_sql_journal(file));
  JournalRun("", device_).end("done", 0);
  EXPECT_EQ(end_in(runs_in(file)).ending, "done");
}

TEST_F(RunInAJournal, GoesOnWithANoteWithoutTheUsersJournalButNotWithoutANamedOne) {
  make_private_folder(folder_.path() / "state");
  const auto file = folder_.path() / "state" / "journal.db";
  write_file_atomically(file, "this is no journal, and it is longer than the header of one would be for its check");
  testing::internal::CaptureStderr();
  JournalRun("", device_).end("done", 0);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), StartsWith("note: this run is not recorded: "));
  EXPECT_THROW(JournalRun(file.string(), device_), Error);
}

}  // namespace
}  // namespace attune
