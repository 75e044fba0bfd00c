// SPDX-License-Identifier: MIT
// The journal in a SQLite file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "store/journal.h"
#include "testing/journal_values.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::HasSubstr;

namespace fs = std::filesystem;

class SqlJournal : public testing::Test, protected JournalValues {
 protected:
  template <typename Open>
  static Error error_of(Open open) {
    try {
      open();
    } catch (const Error& error) {
      return error;
    }
    return Error(ErrorCode::internal, "nothing was thrown");
  }
  static unsigned mode_of(const fs::path& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 0777 : 0;
  }
  void overwrite(size_t offset, std::string_view bytes) {
    std::fstream file(file_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file << bytes;
  }

  TestFolder folder_;
  fs::path file_ = folder_.path() / "home with blank" / "journal.db";
};

TEST_F(SqlJournal, IsPrivate) {
  const mode_t old = ::umask(0);
  const auto journal = open_sql_journal(file_);
  journal->append(std::vector<Entry>{started("a=1")});
  ::umask(old);
  EXPECT_EQ(mode_of(file_), 0600u);
  EXPECT_EQ(mode_of(file_.parent_path()), 0700u);
  EXPECT_EQ(mode_of(file_.string() + "-wal"), 0600u);
}

TEST_F(SqlJournal, EntriesOutliveTheProgram) {
  open_sql_journal(file_)->append(std::vector<Entry>{started("a=1")});
  EXPECT_EQ(all(*open_sql_journal(file_)).size(), 1u);
  EXPECT_EQ(all(*open_sql_journal_read_only(file_)).size(), 1u);
}

TEST_F(SqlJournal, WhatWasAppendedOutlivesSigkill) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto journal = open_sql_journal(file_);
    journal->append(std::vector<Entry>{started("a=1"), record("a=1")});
    [[maybe_unused]] const auto written = ::write(pipe[1], "x", 1);
    for (;;) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(pipe[0], &byte, 1), 1);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(pipe[0]);
  ::close(pipe[1]);
  EXPECT_EQ(all(*open_sql_journal(file_)).size(), 2u);
}

TEST_F(SqlJournal, SeveralProcessesShareOneFile) {
  constexpr int kEach = 20;
  const auto append = [&](const std::string& prefix) {
    const auto journal = open_sql_journal(file_);
    for (int i = 0; i < kEach; ++i) journal->append(std::vector<Entry>{started(prefix + std::to_string(i))});
  };
  const pid_t child = ::fork();
  if (child == 0) {
    append("a=");
    ::_exit(0);
  }
  append("b=");
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(all(*open_sql_journal_read_only(file_)).size(), 2u * kEach);
}

TEST_F(SqlJournal, AReaderSeesWhatAnOpenWriterHasCommitted) {
  const auto writer = open_sql_journal(file_);
  const auto reader = open_sql_journal_read_only(file_);
  writer->append(std::vector<Entry>{started("a=1")});
  EXPECT_EQ(all(*reader).size(), 1u);
}

TEST_F(SqlJournal, AReaderOfAMissingFileIsTold) {
  const Error error = error_of([&] { open_sql_journal_read_only(file_); });
  EXPECT_EQ(error.code(), ErrorCode::not_found);
  EXPECT_FALSE(fs::exists(file_));
}

TEST_F(SqlJournal, AFolderInItsPlaceIsAnError) {
  fs::create_directories(file_);
  EXPECT_THAT(error_of([&] { open_sql_journal(file_); }).what(), HasSubstr("a journal must be a regular file"));
}

TEST_F(SqlJournal, AnUnwritableFolderIsAnIoErrorWithAdvice) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  fs::create_directories(file_.parent_path());
  ::chmod(file_.parent_path().c_str(), 0500);
  const Error error = error_of([&] { open_sql_journal(file_); });
  ::chmod(file_.parent_path().c_str(), 0700);
  EXPECT_EQ(error.code(), ErrorCode::io);
  EXPECT_THAT(error.what(), HasSubstr("--journal"));
}

TEST_F(SqlJournal, AFileThatIsNoDatabaseIsRefused) {
  fs::create_directories(file_.parent_path());
  std::ofstream(file_) << std::string(5000, 'x');
  const Error error = error_of([&] { open_sql_journal(file_); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_input);
  EXPECT_THAT(error.what(), HasSubstr("the file is not a journal, or its first page is damaged"));
  EXPECT_EQ(read_file(file_), std::string(5000, 'x'));
}

TEST_F(SqlJournal, ATornPageIsTold) {
  {
    const auto journal = open_sql_journal(file_);
    for (int i = 0; i < 30; ++i) journal->append(std::vector<Entry>{record("a=" + std::to_string(i))});
  }
  const auto size = fs::file_size(file_);
  ASSERT_GT(size, 3u * 4096);
  for (size_t page = 1; page < size / 4096; ++page) overwrite(page * 4096, std::string(2000, '\x5a'));
  const Error error = error_of([&] { all(*open_sql_journal_read_only(file_)); });
  EXPECT_EQ(error.code(), ErrorCode::database);
  EXPECT_THAT(error.what(), HasSubstr("damaged"));
}

TEST_F(SqlJournal, ATruncatedFileIsTold) {
  {
    const auto journal = open_sql_journal(file_);
    for (int i = 0; i < 30; ++i) journal->append(std::vector<Entry>{record("a=" + std::to_string(i))});
  }
  fs::resize_file(file_, 2 * 4096 + 100);
  EXPECT_THAT(error_of([&] { all(*open_sql_journal(file_)); }).what(), HasSubstr("damaged"));
}

TEST_F(SqlJournal, ANewerSchemaIsRefused) {
  open_sql_journal(file_);
  overwrite(60, std::string("\0\0\0\x63", 4));  // PRAGMA user_version, in the header of the file
  EXPECT_THAT(error_of([&] { open_sql_journal(file_); }).what(),
              HasSubstr("the journal has schema 99 and this program supports up to 2"));
  EXPECT_THAT(error_of([&] { open_sql_journal_read_only(file_); }).what(), HasSubstr("schema 99"));
}

TEST_F(SqlJournal, AnotherProgramsDatabaseIsRefused) {
  open_sql_journal(file_);
  overwrite(68, std::string("abcd", 4));  // PRAGMA application_id
  EXPECT_THAT(error_of([&] { open_sql_journal(file_); }).what(), HasSubstr("a database of another program"));
}

TEST_F(SqlJournal, AWriteThatFailsLosesNothingThatWasThere) {
  open_sql_journal(file_)->append(std::vector<Entry>{started("a=1")});
  const pid_t child = ::fork();
  if (child == 0) {
    const auto journal = open_sql_journal(file_);
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    limit.rlim_cur = limit.rlim_max = 64 * 1024;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const std::vector<Entry> many(1000, record("a=1"));
    const Error error = error_of([&] { journal->append(many); });
    ::_exit(error.code() == ErrorCode::database &&
                    std::string_view(error.what()).find("--journal") != std::string_view::npos
                ? 7
                : 8);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(all(*open_sql_journal(file_)).size(), 1u);
}

TEST_F(SqlJournal, CompactionMakesTheFileSmaller) {
  const auto journal = open_sql_journal(file_);
  auto large = record("a=1");
  large.outcome.measurement->samples.assign(500, {1.25f, 1, 2, false});
  journal->append(std::vector<Entry>(50, large));
  journal->compact();
  EXPECT_LT(fs::file_size(file_), 150'000u) << "the samples alone take 400'000";
  EXPECT_EQ(all(*journal).size(), 50u);
}

TEST_F(SqlJournal, AFileThatOthersMayReadIsMadePrivate) {
  open_sql_journal(file_);
  ::chmod(file_.c_str(), 0644);
  open_sql_journal_read_only(file_);
  EXPECT_EQ(fs::status(file_).permissions(), fs::perms(0644)) << "a reader changes nothing";
  open_sql_journal(file_);
  EXPECT_EQ(fs::status(file_).permissions(), fs::perms(0600));
}

TEST_F(SqlJournal, AReaderPassesOverDamagedEntriesAndCountsThem) {
  {
    const auto journal = open_sql_journal(file_);
    for (int i = 0; i < 3; ++i) journal->append(std::vector<Entry>{record("a=" + std::to_string(i))});
  }
  const std::string bytes = read_file(file_);
  const size_t second = bytes.rfind(R"({"binaries")", bytes.find(R"({"config":"a=1")"));
  ASSERT_NE(second, std::string::npos);
  overwrite(second, "x");
  size_t num_read = 0;
  EXPECT_EQ(open_sql_journal_read_only(file_)->scan({}, [&](const Entry&, const Stamp&) { ++num_read; }), 1u);
  EXPECT_EQ(num_read, 2u);
  const auto count = [&](const EntryHeading&, const Outcome&) { ++num_read; };
  EXPECT_EQ(open_sql_journal_read_only(file_)->visit_outcomes({}, count), 1u);
  EXPECT_EQ(num_read, 4u);
  EXPECT_THAT(error_of([&] { all(*open_sql_journal(file_)); }).what(), HasSubstr("damaged")) << "a writer is told";
  EXPECT_THAT(error_of([&] { open_sql_journal(file_)->visit_outcomes({}, count); }).what(), HasSubstr("damaged"));
}

TEST_F(SqlJournal, AReaderReadsAroundATornPage) {
  constexpr size_t kNumEntries = 60;
  {
    const auto journal = open_sql_journal(file_);
    for (size_t i = 0; i < kNumEntries; ++i) journal->append(std::vector<Entry>{record("a=" + std::to_string(i))});
  }
  // A page in the middle of the file holds entries, not the index or the root.
  overwrite(fs::file_size(file_) / 4096 / 2 * 4096, std::string(4096, '\x5a'));
  size_t num_read = 0;
  const size_t num_damaged =
      open_sql_journal_read_only(file_)->scan({}, [&](const Entry&, const Stamp&) { ++num_read; });
  EXPECT_GT(num_damaged, 0u);
  EXPECT_GT(num_read, kNumEntries / 2);
  EXPECT_EQ(num_read + num_damaged, kNumEntries);
  size_t num_outcomes = 0;
  EXPECT_EQ(open_sql_journal_read_only(file_)->visit_outcomes(
                {}, [&](const EntryHeading&, const Outcome&) { ++num_outcomes; }),
            num_damaged);
  EXPECT_EQ(num_outcomes, num_read);
}

TEST_F(SqlJournal, AReaderCountsAroundATornPage) {
  constexpr size_t kNumEntries = 60;
  {
    const auto journal = open_sql_journal(file_);
    for (size_t i = 0; i < kNumEntries; ++i) journal->append(std::vector<Entry>{record("a=" + std::to_string(i))});
  }
  const std::string whole = read_file(file_), torn(4096, '\x5a');
  size_t num_readable = 0;
  for (size_t page = 1; page < whole.size() / 4096; ++page) {
    overwrite(page * 4096, torn);
    size_t num_read = 0, num_newest = 0;
    std::optional<size_t> counted;
    static_cast<void>(error_of([&] {
      const auto journal = open_sql_journal_read_only(file_);
      journal->scan({}, [&](const Entry&, const Stamp&) { ++num_read; });
      counted = static_cast<size_t>(journal->count({}).records);
      journal->scan({.newest_first = true, .limit = 3}, [&](const Entry&, const Stamp&) { ++num_newest; });
    }));
    if (num_read > 0) {
      // A whole index counts entries on the torn page, too.
      EXPECT_TRUE(counted == num_read || counted == kNumEntries) << "page " << page;
      EXPECT_EQ(num_newest, std::min<size_t>(3, num_read)) << "page " << page;
      ++num_readable;
    }
    overwrite(page * 4096, whole.substr(page * 4096, 4096));
  }
  EXPECT_GT(num_readable, whole.size() / 4096 / 2);
  for (size_t page = 1; page < whole.size() / 4096; ++page) overwrite(page * 4096, torn);
  EXPECT_THAT(error_of([&] { open_sql_journal(file_)->count({}); }).what(), HasSubstr("damaged")) << "a writer is told";
}

}  // namespace
}  // namespace attune
