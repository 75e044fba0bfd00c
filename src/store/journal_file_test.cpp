// SPDX-License-Identifier: MIT
#include "store/journal_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "store/journal.h"
#include "testing/test_files.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::vector<Entry> kEntries = {Pardon{"g/2", {"fake.gemm", "1", Config::parse("a=1")}}};

/// All properties of a foreign file that must not change.
struct Trace {
  mode_t mode;
  off_t size;
  timespec modified, changed;

  explicit Trace(const fs::path& path) {
    struct stat status {};
    EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
    mode = status.st_mode;
    size = status.st_size;
    modified = status.st_mtim;
    changed = status.st_ctim;
  }
  bool operator==(const Trace& other) const {
    const auto same = [](timespec a, timespec b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; };
    return mode == other.mode && size == other.size && same(modified, other.modified) && same(changed, other.changed);
  }
};

class JournalFiles : public testing::Test {
 protected:
  static std::string refusal(const fs::path& file) {
    std::string told;
    for (const auto open : {open_sql_journal, open_sql_journal_read_only}) {
      try {
        open(file);
        ADD_FAILURE() << "not refused: " << file;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_input) << error.what();
        told = error.what();
      }
    }
    return told;
  }
  static mode_t mode_of(const fs::path& path) { return Trace(path).mode & 0777; }
  void put(const fs::path& path, const std::string& content, mode_t mode = 0644) {
    std::ofstream(path) << content;
    ::chmod(path.c_str(), mode);
  }

  TestFolder folder_;
  fs::path file_ = folder_.path() / "journal.db";
};

TEST_F(JournalFiles, AForeignFileIsRefusedAndKeepsModeBytesAndTimes) {
  for (const std::string content : {"root:x:0:0\n", "", "SQLite format 3", "SQLite format 3\0"}) {
    put(file_, content);
    const Trace before(file_);
    EXPECT_THAT(refusal(file_), HasSubstr("not a journal"));
    EXPECT_TRUE(Trace(file_) == before) << content;
  }
}

TEST_F(JournalFiles, AnotherProgramsDatabaseIsRefusedAndKeepsItsMode) {
  open_sql_journal(file_);
  for (const auto& id : {std::string(4, 0), std::string("abcd")}) {
    std::string content = read_file(file_).replace(68, 4, id);
    put(file_, content);
    const Trace before(file_);
    EXPECT_THAT(refusal(file_), HasSubstr("a database of another program"));
    EXPECT_TRUE(Trace(file_) == before);
    EXPECT_EQ(read_file(file_), content);
  }
}

TEST_F(JournalFiles, ALinkIsNotFollowed) {
  put(folder_.path() / "foreign", "root:x:0:0\n");
  open_sql_journal(folder_.path() / "own.db");
  ::chmod((folder_.path() / "own.db").c_str(), 0644);
  for (const char* target : {"foreign", "own.db", "nowhere"}) {
    fs::remove(file_);
    fs::create_symlink(target, file_);
    EXPECT_THAT(refusal(file_), HasSubstr("must not be a link"));
    EXPECT_TRUE(fs::is_symlink(file_));
  }
  EXPECT_EQ(mode_of(folder_.path() / "foreign"), 0644u);
  EXPECT_EQ(mode_of(folder_.path() / "own.db"), 0644u);
  EXPECT_FALSE(fs::exists(folder_.path() / "nowhere"));
}

TEST_F(JournalFiles, WhatIsNoPlainFileIsRefused) {
  ASSERT_EQ(::mkfifo(file_.c_str(), 0644), 0);
  EXPECT_THAT(refusal(file_), HasSubstr("a regular file"));
  EXPECT_THAT(refusal(folder_.path()), HasSubstr("a regular file"));
  EXPECT_EQ(mode_of(file_), 0644u);
}

TEST_F(JournalFiles, WhatLiesBesideAJournalIsLookedAtLikewise) {
  open_sql_journal(file_)->append(kEntries);
  put(folder_.path() / "foreign", "root:x:0:0\n");
  for (const char* ending : {"-wal", "-shm"}) {
    const fs::path beside = file_.string() + ending;
    fs::create_symlink("foreign", beside);
    EXPECT_THAT(refusal(file_), HasSubstr("must not be a link"));
    fs::remove(beside);
    put(beside, "root:x:0:0\n");
    const Trace before(beside);
    EXPECT_THAT(refusal(file_), HasSubstr("a file of another program"));
    EXPECT_TRUE(Trace(beside) == before);
    fs::remove(beside);
  }
  EXPECT_EQ(mode_of(folder_.path() / "foreign"), 0644u);
  EXPECT_NO_THROW(open_sql_journal(file_));
}

TEST_F(JournalFiles, ALogWithoutItsJournalIsNotGivenToANewOne) {
  put(file_.string() + "-wal", "what was not yet copied");
  try {
    open_sql_journal(file_);
    ADD_FAILURE() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    EXPECT_THAT(error.what(), HasSubstr("journal.db-wal"));
  }
  EXPECT_FALSE(fs::exists(file_));
  EXPECT_EQ(read_file(file_.string() + "-wal"), "what was not yet copied");
}

TEST_F(JournalFiles, AWriterMakesAJournalPrivateWithWhatLiesBesideAndAReaderDoesNot) {
  const auto keeps_the_log = open_sql_journal(file_);
  keeps_the_log->append(kEntries);
  const auto all = {file_, fs::path(file_.string() + "-wal"), fs::path(file_.string() + "-shm")};
  for (const fs::path& one : all) ::chmod(one.c_str(), 0664);
  open_sql_journal_read_only(file_);
  for (const fs::path& one : all) EXPECT_EQ(mode_of(one), 0664u) << one;
  open_sql_journal(file_);
  for (const fs::path& one : all) EXPECT_EQ(mode_of(one), 0600u) << one;
}

TEST_F(JournalFiles, AnotherConnectionsLocksOutliveTheSecondOpening) {
  const auto held = JournalFile::claim(file_);
  const int locking = ::open(file_.c_str(), O_RDWR | O_CLOEXEC);
  struct flock lock {};
  lock.l_type = F_WRLCK;
  ASSERT_EQ(::fcntl(locking, F_SETLK, &lock), 0);
  ::chmod(file_.c_str(), 0644);
  JournalFile::claim(file_);
  JournalFile::find(file_);
  EXPECT_EQ(mode_of(file_), 0600u);
  const pid_t child = ::fork();
  if (child == 0) {
    ::fcntl(locking, F_GETLK, &lock);
    ::_exit(lock.l_type == F_WRLCK ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "the lock is gone";
  ::close(locking);
}

TEST_F(JournalFiles, AJournalWhoseFirstPageIsInTheLogAloneIsOurs) {
  const fs::path killed = folder_.path() / "killed.db";
  {
    const auto journal = open_sql_journal(file_);
    journal->append(kEntries);
    put(killed, read_file(file_).replace(68, 4, std::string(4, '\0')), 0600);  // as earlier versions started it
    put(killed.string() + "-wal", read_file(file_.string() + "-wal"), 0600);
  }
  size_t num_entries = 0;
  open_sql_journal(killed)->scan({}, [&](const Entry&, const Stamp&) { ++num_entries; });
  EXPECT_EQ(num_entries, kEntries.size());
}

TEST_F(JournalFiles, ARemovedOrReplacedJournalTakesNothingMore) {
  for (const bool replaced : {false, true}) {
    const auto journal = open_sql_journal(file_);
    journal->append(kEntries);
    EXPECT_TRUE(journal->is_in_place());
    const fs::path moved = folder_.path() / "moved.db";
    fs::rename(file_, moved);
    EXPECT_FALSE(journal->is_in_place());
    if (replaced) put(file_, "another's");
    EXPECT_FALSE(journal->is_in_place());
    try {
      journal->append(kEntries);
      ADD_FAILURE() << "appended";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::database);
      EXPECT_THAT(error.what(), HasSubstr("removed or replaced"));
    }
    if (!replaced) fs::rename(moved, file_);
  }
  EXPECT_EQ(read_file(file_), "another's");
}

TEST_F(JournalFiles, WhatAKilledProcessLeftIsRemovedAtTheNextOpening) {
  open_sql_journal(file_);
  const fs::path stale = folder_.path() / ".journal.aB3xY9", used = folder_.path() / ".journal.busy42",
                 foreign = folder_.path() / ".journal.theirs", shared = folder_.path() / ".journal.shared";
  for (const fs::path& one : {stale, used}) put(one, "", 0600);
  put(foreign, "notes\n", 0600);
  put(shared, "", 0644);
  const int held = ::open(used.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(held, LOCK_EX | LOCK_NB), 0);
  open_sql_journal_read_only(file_);
  EXPECT_TRUE(fs::exists(stale)) << "a reader changes nothing";
  open_sql_journal(file_);
  EXPECT_FALSE(fs::exists(stale));
  for (const fs::path& one : {used, foreign, shared}) EXPECT_TRUE(fs::exists(one)) << one;
  ::close(held);
  open_sql_journal(file_);
  EXPECT_FALSE(fs::exists(used));
}

TEST_F(JournalFiles, ProcessesThatBeginOneJournalAtTheSameTimeAgree) {
  constexpr int kProcesses = 8;
  for (int i = 0; i < kProcesses; ++i) {
    if (::fork() == 0) {
      bool done = false;
      try {
        open_sql_journal(file_)->append(kEntries);
        done = true;
      } catch (const Error&) {
      }
      ::_exit(done ? 0 : 1);
    }
  }
  for (int i = 0; i < kProcesses; ++i) {
    int status = -1;
    ::wait(&status);
    EXPECT_EQ(status, 0);
  }
  size_t num_entries = 0;
  open_sql_journal_read_only(file_)->scan({}, [&](const Entry&, const Stamp&) { ++num_entries; });
  EXPECT_EQ(num_entries, size_t{kProcesses});
  for (const auto& one : fs::directory_iterator(folder_.path()))
    EXPECT_THAT(one.path().filename().string(), testing::StartsWith("journal.db"));
}

}  // namespace
}  // namespace attune
