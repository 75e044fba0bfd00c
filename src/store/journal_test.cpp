// SPDX-License-Identifier: MIT
#include "store/journal.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "store/entry_json.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

const Problem kProblem = Problem::parse("gemm_a16w16 m=1 n=2 k=3 dtype=bf16 outdtype=bf16 bias=0");
const Problem kOther = Problem::parse("gemm_a16w16 m=2 n=2 k=3 dtype=bf16 outdtype=bf16 bias=0");
const Versions kVersions = {{"fake.gemm", "1+2.6"}, {"kernel.linux", "6.1"}};

Candidate candidate(const std::string& config) { return {"fake.gemm", "1+2.6", Config::parse(config)}; }

Protocol protocol() {
  Protocol value;
  value.seed = std::numeric_limits<uint64_t>::max();
  value.min_gain = 0.1 + 0.2;
  return value;
}

Started started(const std::string& config, const Problem& problem = kProblem) {
  return {problem, "g/2", candidate(config), kVersions, "here"};
}

Record record(const std::string& config, double us = 1.0 / 3) {
  Record value{kProblem, "g/2", candidate(config), kVersions, protocol(), Stage::screen, true, {}};
  value.outcome.detail = "one \"sentence\"\nand a line";
  value.outcome.errors = {1e-300, 0.1, 5e-324};
  value.outcome.measurement =
      Measurement{{{1.1f, 0.97f, 3, true}, {2.2f, 1, 4, false}}, true, us, us / 7, 1ull << 63, 5, Timing::graph, 7, 8};
  value.fingerprint = "here";
  value.binaries = {{"recipe", "gcc-12.2.0", "sha"}};
  value.deadlines = {60000, 2000};
  return value;
}

Decision decision(const std::string& winner, const Versions& versions = kVersions) {
  Decision value;
  value.problem = kProblem;
  value.device = "g/2";
  value.protocol = protocol();
  value.winner = candidate(winner);
  value.baseline = candidate("");
  value.versions = versions;
  value.finalists = {{candidate(winner), 1.5, 1.1, 1.05, 1.15, 21, {}, {{"recipe", "gcc-12.2.0", "sha"}}}};
  value.tied = {candidate("a=1")};
  value.verdict = Verdict::tie;
  value.noisy = true;
  value.comparison = {.us = 0.1, .interval = {1, 1e300}, .num_clean = 21};
  value.launches = 123456789012345;
  value.fingerprint = "here";
  value.num_candidates = 96;
  value.seconds = 4.0 / 3;
  value.strategy = "local";
  value.deadlines = {60000, 2000};
  value.incumbent = Incumbent{candidate("a=7"), 9.5, "row,of,the table"};
  value.dropped_bests = {{candidate("a=8"), 11.5, 4096}};
  value.best_untuned = BestUntuned{candidate(""), 2.5, 1.25, true};
  return value;
}

std::vector<Entry> all(const Journal& journal, const Query& query = {}) {
  std::vector<Entry> entries;
  journal.scan(query, [&](const Entry& entry, const Stamp&) { entries.push_back(entry); });
  return entries;
}

std::vector<Stamp> stamps(const Journal& journal, const Query& query = {}) {
  std::vector<Stamp> all;
  journal.scan(query, [&](const Entry&, const Stamp& stamp) { all.push_back(stamp); });
  return all;
}

RunBegin run_begin() {
  return {{"attune", "tune", "-m", "4"}, "0.1.0", "node 7", 4711, "g/2", "here", "a device",
          {{"OMP_NUM_THREADS", "2"}}};
}

class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "attune_journal_XXXXXX").string();
    if (::mkdtemp(pattern.data())) path_ = pattern;
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path path_;
};

struct Kind {
  std::string name;
  std::unique_ptr<Journal> (*open)(const fs::path&);
};

/// Guarantees of every journal.
class JournalConformance : public testing::TestWithParam<Kind> {
 protected:
  Folder folder_;
  std::unique_ptr<Journal> journal_ = GetParam().open(folder_.path_ / "journal.db");
};

TEST_P(JournalConformance, GivesBackWhatWasAppendedInOrder) {
  const std::vector<Entry> entries = {started("a=1"), record("a=1"), decision("a=1"), Pardoned{"g/2", candidate("a=1")},
                                      started("a=2", kOther)};
  journal_->append(std::span(entries).first(2));
  journal_->append(std::span(entries).subspan(2));
  journal_->append({});
  EXPECT_EQ(all(*journal_), entries);
}

TEST_P(JournalConformance, AScanGivesOnlyWhatTheQueryAsksFor) {
  auto elsewhere = record("a=1");
  elsewhere.device = "h/4";
  elsewhere.fingerprint = "there";
  auto warm = record("a=1");
  warm.protocol.cache = CachePolicy::warm;
  const std::vector<Entry> entries = {
      started("a=1"), record("a=1"), decision("a=1"), Pardoned{"g/2", candidate("a=1")}, started("a=1", kOther),
      elsewhere,      warm};
  journal_->append(entries);
  const auto pick = [&](std::vector<size_t> indices) {
    std::vector<Entry> some;
    for (const size_t i : indices) some.push_back(entries[i]);
    return some;
  };
  EXPECT_EQ(all(*journal_, {.problem = kProblem}), pick({0, 1, 2, 3, 5, 6}));
  EXPECT_EQ(all(*journal_, {.device = "h/4"}), pick({5}));
  EXPECT_EQ(all(*journal_, {.fingerprint = "there"}), pick({3, 5}));
  EXPECT_EQ(all(*journal_, {.protocol = protocol()}), pick({0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(all(*journal_, {.started = false, .pardons = false}), pick({1, 2, 5, 6}));
  EXPECT_EQ(all(*journal_, {.problem = kOther, .records = false, .decisions = false, .pardons = false}), pick({4}));
  EXPECT_TRUE(all(*journal_, {.started = false, .records = false, .decisions = false, .pardons = false}).empty());
}

TEST_P(JournalConformance, RecordsHoldUnderAnySearchDecisionsUnderTheirOwn) {
  const std::vector<Entry> entries = {record("a=1"), decision("a=1")};
  journal_->append(entries);
  Protocol longer = protocol();
  longer.procedure = "race/1 auto/1000";
  EXPECT_EQ(all(*journal_, {.protocol = longer}), std::vector<Entry>{entries[0]});
  EXPECT_FALSE(journal_->decision(kProblem, "here", kVersions, longer));
  Protocol stricter = protocol();
  stricter.err_ratio = 0.01;
  EXPECT_TRUE(all(*journal_, {.protocol = stricter}).empty());
}

TEST_P(JournalConformance, TheNewestDecisionOfThePresentVersionsIsFound) {
  const Versions drifted = {{"fake.gemm", "1+2.6"}, {"kernel.linux", "6.2"}},
                 stale = {{"fake.gemm", "1+2.7"}, {"kernel.linux", "6.1"}};
  const std::vector<Entry> entries = {decision("a=0"), decision("a=1"), decision("a=2", drifted),
                                      decision("a=3", stale)};
  EXPECT_FALSE(journal_->decision(kProblem, "here", kVersions, protocol()));
  journal_->append(entries);
  EXPECT_EQ(journal_->decision(kProblem, "here", kVersions, protocol()), std::get<Decision>(entries[1]));
  EXPECT_EQ(journal_->decision(kProblem, "here", drifted, protocol()), std::get<Decision>(entries[2]));
  EXPECT_EQ(journal_->decision(kProblem, "here", stale, protocol()), std::get<Decision>(entries[3]));
  EXPECT_FALSE(journal_->decision(kOther, "here", kVersions, protocol()));
  EXPECT_FALSE(journal_->decision(kProblem, "there", kVersions, protocol()));
  EXPECT_FALSE(journal_->decision(kProblem, "here", kVersions, Protocol{}));
}

TEST_P(JournalConformance, EntriesSayWhenAndInWhichRunTheyWereAppended) {
  const int64_t before_ms = unix_ms();
  journal_->append(std::vector<Entry>{started("a=1")});
  const int64_t run = journal_->begin_run(run_begin());
  journal_->append(std::vector<Entry>{started("a=2"), RunEnd{"done", 1, kVersions}});
  journal_->join_run(0);
  journal_->append(std::vector<Entry>{started("a=3")});
  const auto all_stamps = stamps(*journal_, {.runs = true});
  ASSERT_EQ(all_stamps.size(), 5u);
  EXPECT_EQ(all_stamps[1].id, run);
  const std::vector<int64_t> runs = {0, run, run, run, 0};
  for (size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(all_stamps[i].run, runs[i]) << i;
    EXPECT_GE(all_stamps[i].at_ms, before_ms);
    EXPECT_LE(all_stamps[i].at_ms, unix_ms());
    EXPECT_EQ(all_stamps[i].id, all_stamps[0].id + static_cast<int64_t>(i));
  }
  EXPECT_EQ(all(*journal_, {.started = false, .runs = true}),
            (std::vector<Entry>{run_begin(), RunEnd{"done", 1, kVersions}}));
  EXPECT_EQ(all(*journal_, {.after = all_stamps[3].id}), (std::vector<Entry>{started("a=3")}));
}

TEST_P(JournalConformance, NoIdIsUsedTwice) {
  journal_->append(std::vector<Entry>{record("a=1"), started("a=1")});
  const int64_t last = stamps(*journal_).back().id;
  journal_->append(std::vector<Entry>{record("a=1")});
  journal_->compact();  // drops the announcement, the newest entry but one
  journal_->append(std::vector<Entry>{started("a=2")});
  EXPECT_GT(stamps(*journal_).back().id, last + 1);
}

TEST_P(JournalConformance, WinnersAreVisitedByPlaceFromACursorOn) {
  auto elsewhere = decision("a=9");
  elsewhere.fingerprint = "there";
  journal_->append(std::vector<Entry>{decision("a=1"), record("a=1"), elsewhere, decision("a=2")});
  std::vector<Winner> winners;
  const auto take = [&](const Winner& winner) { winners.push_back(winner); };
  journal_->visit_winners("here", 0, take);
  ASSERT_EQ(winners.size(), 2u);
  EXPECT_EQ(winners[0].problem, kProblem.key());
  EXPECT_EQ(winners[0].candidate_name, candidate("a=1").name());
  const int64_t cursor = winners[0].id;
  winners.clear();
  journal_->visit_winners("here", cursor, take);
  ASSERT_EQ(winners.size(), 1u);
  EXPECT_EQ(winners[0].candidate_name, candidate("a=2").name());
}

TEST_P(JournalConformance, CompactionDropsFinishedStartsAndSupersededSamples) {
  auto crashed = record("a=3");
  crashed.outcome = {Status::crashed, "signal 11", {}, std::nullopt};
  const std::vector<Entry> entries = {started("a=1"), record("a=1", 1), started("a=1"), record("a=1", 2),
                                      started("a=2"), crashed,          crashed,        decision("a=1")};
  journal_->append(entries);
  journal_->compact();
  auto old = record("a=1", 1);
  old.outcome.measurement->samples.clear();
  EXPECT_EQ(all(*journal_),
            (std::vector<Entry>{old, record("a=1", 2), started("a=2"), crashed, crashed, decision("a=1")}));
  journal_->compact();
  EXPECT_EQ(all(*journal_).size(), 6u);
  journal_->append(std::vector<Entry>{started("a=9")});
  EXPECT_EQ(all(*journal_).back(), Entry(started("a=9")));
}

INSTANTIATE_TEST_SUITE_P(Journals, JournalConformance,
                         testing::Values(Kind{"memory", [](const fs::path&) { return open_memory_journal(); }},
                                         Kind{"sql", [](const fs::path& file) { return open_sql_journal(file); }}),
                         [](const auto& kind) { return kind.param.name; });

TEST(EntryJson, NumbersThatAreNotFiniteAndTextThatIsNotUtf8Survive) {
  auto value = decision("a=1");
  value.comparison.interval.high = std::numeric_limits<double>::infinity();
  value.comparison.interval.low = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(entry_from_json(entry_to_json(value)), Entry(value));
  auto noisy = record("a=1");
  noisy.outcome.errors.cosine = std::numeric_limits<double>::quiet_NaN();
  noisy.outcome.detail = "\xff";
  const auto back = std::get<Record>(entry_from_json(entry_to_json(noisy)));
  EXPECT_TRUE(std::isnan(back.outcome.errors.cosine));
  EXPECT_EQ(back.outcome.detail, "\xef\xbf\xbd");
}

TEST(EntryJson, WhatIsNoEntryIsInvalidInput) {
  for (const std::string text :
       {"", "{", "[]", "{\"type\":\"x\"}", "{\"type\":\"started\"}", "{\"type\":1}", "null",
        R"({"type":"pardoned","device":"g","candidate":{"solver":"s","version":"1","config":"a"}})"}) {
    try {
      entry_from_json(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    }
  }
}

class SqlJournal : public testing::Test {
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

  Folder folder_;
  fs::path file_ = folder_.path_ / "home with blank" / "journal.db";
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
  EXPECT_LT(fs::file_size(file_), 100'000u);
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
  EXPECT_THAT(error_of([&] { all(*open_sql_journal(file_)); }).what(), HasSubstr("damaged")) << "a writer is told";
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
}

}  // namespace
}  // namespace attune
