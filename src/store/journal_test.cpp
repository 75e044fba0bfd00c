// SPDX-License-Identifier: MIT
#include "store/journal.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "testing/journal_values.h"
#include "testing/test_files.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

struct Kind {
  std::string name;
  std::unique_ptr<Journal> (*open)(const fs::path&);
};

/// Guarantees of every journal.
class JournalConformance : public testing::TestWithParam<Kind>, protected JournalValues {
 protected:
  TestFolder folder_;
  std::unique_ptr<Journal> journal_ = GetParam().open(folder_.path() / "journal.db");
};

TEST_P(JournalConformance, GivesBackWhatWasAppendedInOrder) {
  const std::vector<Entry> entries = {started("a=1"), record("a=1"), decision("a=1"), Pardon{"g/2", candidate("a=1")},
                                      started("a=2", kOther)};
  journal_->append(std::span(entries).first(2));
  journal_->append(std::span(entries).subspan(2));
  journal_->append({});
  EXPECT_EQ(all(*journal_), entries);
}

TEST_P(JournalConformance, BansAreGivenToWhoAsksForThem) {
  const BanChange made{{"a.gemm@1:x=1", "g/2", "gemm m=1", "wrong"}, "me@here", false};
  const BanChange lifted{{"a.gemm", "", "", "no \xc3\xa9"}, "you@here", true};
  const std::vector<Entry> bans = {made, lifted};
  journal_->append(bans);
  const Entry other = started("a=1");
  journal_->append({&other, 1});
  EXPECT_EQ(all(*journal_).size(), 1u);
  const Query query{.started = false, .records = false, .decisions = false, .pardons = false, .bans = true};
  EXPECT_EQ(all(*journal_, query), bans);
  Query there = query;
  there.device = "h/4";
  there.fingerprint = "there";
  there.problem = kProblem;
  EXPECT_EQ(all(*journal_, there), std::vector<Entry>{lifted}) << "one of every device is one of each";
  std::vector<std::string> names;
  journal_->visit_headings(query, [&](const EntryHeading& one) {
    if (one.kind == EntryKind::ban) names.push_back(one.solver + " " + one.candidate);
  });
  EXPECT_EQ(names, (std::vector<std::string>{"a.gemm a.gemm@1:x=1", "a.gemm a.gemm"}));
}

TEST_P(JournalConformance, AScanGivesOnlyWhatTheQueryAsksFor) {
  auto elsewhere = record("a=1");
  elsewhere.device = "h/4";
  elsewhere.fingerprint = "there";
  auto warm = record("a=1");
  warm.protocol.cache = CachePolicy::warm;
  const std::vector<Entry> entries = {
      started("a=1"), record("a=1"), decision("a=1"), Pardon{"g/2", candidate("a=1")}, started("a=1", kOther),
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

TEST_P(JournalConformance, AQueryPagesFromEitherEnd) {
  std::vector<Entry> entries;
  for (int i = 0; i < 10; ++i) entries.push_back(record("a=" + std::to_string(i)));
  journal_->append(entries);
  const auto ids = [&](const Query& query) {
    std::vector<int64_t> all;
    for (const Stamp& stamp : stamps(*journal_, query)) all.push_back(stamp.id);
    return all;
  };
  const auto all = ids({});
  ASSERT_EQ(all.size(), 10u);
  EXPECT_EQ(ids({.limit = 3}), (std::vector{all[0], all[1], all[2]}));
  EXPECT_EQ(ids({.after = all[2], .limit = 3}), (std::vector{all[3], all[4], all[5]}));
  EXPECT_EQ(ids({.newest_first = true, .limit = 3}), (std::vector{all[9], all[8], all[7]}));
  EXPECT_EQ(ids({.after = all[7], .newest_first = true}), (std::vector{all[9], all[8]}));
}

TEST_P(JournalConformance, AQueryFiltersByRunStageStatusAndPrefix) {
  auto crashed = record("a=1");
  crashed.outcome.status = Status::crashed;
  crashed.outcome.measurement.reset();
  auto final = record("a=2");
  final.stage = Stage::final;
  journal_->append(std::vector<Entry>{started("a=0", kOther)});
  const int64_t run = journal_->begin_run(run_begin());
  const std::vector<Entry> entries = {started("a=1"), crashed, final, decision("a=2"), RunEnd{"done", 0, {}}};
  journal_->append(entries);
  const Query runs{.run = run, .runs = true};
  EXPECT_EQ(all(*journal_, runs).size(), entries.size() + 1) << "with its beginning";
  EXPECT_EQ(all(*journal_, {.stages = {Stage::final}, .started = false}), (std::vector{entries[2], entries[3]}));
  EXPECT_EQ(all(*journal_, {.statuses = {"crashed", "tie"}}), (std::vector{entries[1], entries[3]}));
  EXPECT_EQ(all(*journal_, {.statuses = {"done"}, .runs = true}), (std::vector{entries[4]}));
  EXPECT_EQ(all(*journal_, {.problem_prefix = "gemm_a16w16 m=2 "}), (std::vector<Entry>{started("a=0", kOther)}));
  EXPECT_EQ(all(*journal_, {.problem_prefix = "gemm_a16w16 m="}).size(), 5u);
  EXPECT_TRUE(all(*journal_, {.problem_prefix = "%"}).empty());
  EXPECT_EQ(journal_->count(runs), (EntryCounts{.started = 1, .records = 2, .decisions = 1, .runs = 1}));
  EXPECT_EQ(journal_->count({.limit = 1}), (EntryCounts{.started = 2, .records = 2, .decisions = 1}));
  EXPECT_EQ(journal_->count({.statuses = {"crashed"}}), (EntryCounts{.records = 1}));
}

TEST_P(JournalConformance, ACountOfDecisionsIsThatOfTheirScan) {
  auto other = decision("a=2");
  other.problem = kOther;
  other.fingerprint = "there";
  other.verdict = Verdict::faster;
  journal_->append(std::vector<Entry>{decision("a=0"), record("a=1")});
  const int64_t run = journal_->begin_run(run_begin());
  journal_->append(std::vector<Entry>{decision("a=1"), other, started("a=2"), other});
  const Query decisions{.started = false, .records = false, .pardons = false};
  const auto is_counted = [&](auto change, int64_t expected) {
    Query query = decisions;
    change(query);
    EXPECT_EQ(all(*journal_, query).size(), static_cast<size_t>(expected));
    EXPECT_EQ(journal_->count(query), EntryCounts{.decisions = expected});
  };
  is_counted([](Query&) {}, 4);
  is_counted([](Query& query) { query.problem = kOther; }, 2);
  is_counted([](Query& query) { query.problem_prefix = "gemm_a16w16 m=1 "; }, 2);
  is_counted([&](Query& query) { query.run = run; }, 3);
  is_counted([](Query& query) { query.statuses = {"faster"}; }, 2);
  is_counted([](Query& query) { query.fingerprint = "there"; }, 2);
  is_counted([](Query& query) { query.device = "nowhere"; }, 0);
  is_counted([](Query& query) { query.protocol = protocol(); }, 4);
  is_counted([&](Query& query) { query.after = stamps(*journal_)[2].id; }, 2);
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

TEST_P(JournalConformance, HeadingsOfDecisionsAreVisitedByPlaceFromACursorOn) {
  auto elsewhere = decision("a=9");
  elsewhere.fingerprint = "there";
  journal_->append(std::vector<Entry>{decision("a=1"), record("a=1"), elsewhere, decision("a=2")});
  Query query{.fingerprint = "here", .started = false, .records = false, .pardons = false};
  std::vector<EntryHeading> winners;
  const auto take = [&](const EntryHeading& winner) { winners.push_back(winner); };
  journal_->visit_headings(query, take);
  ASSERT_EQ(winners.size(), 2u);
  EXPECT_EQ(winners[0].problem, kProblem.key());
  EXPECT_EQ(winners[0].candidate, candidate("a=1").name());
  EXPECT_EQ(winners[0].kind, EntryKind::decision);
  query.after = winners[0].stamp.id;
  winners.clear();
  journal_->visit_headings(query, take);
  ASSERT_EQ(winners.size(), 1u);
  EXPECT_EQ(winners[0].candidate, candidate("a=2").name());
}

TEST_P(JournalConformance, HeadingsSayWhatAScanDoes) {
  const int64_t run = journal_->begin_run({.device = "cpu"});
  auto crashed = record("a=3");
  crashed.outcome = {Status::crashed, "signal 11", {}, std::nullopt};
  journal_->append(std::vector<Entry>{started("a=1"), crashed, decision("a=1"), RunEnd{"done", 0, {}}});
  for (const Query& query : {Query{.runs = true}, Query{.run = run, .runs = true}, Query{.statuses = {"crashed"}},
                             Query{.newest_first = true, .limit = 2}, Query{.after = run + 1},
                             Query{.before = run + 2, .newest_first = true, .runs = true}}) {
    std::vector<EntryHeading> wanted, visited;
    journal_->scan(query, [&](const Entry& entry, const Stamp& stamp) { wanted.push_back(heading_of(entry, stamp)); });
    journal_->visit_headings(query, [&](const EntryHeading& heading) { visited.push_back(heading); });
    EXPECT_EQ(visited, wanted);
    EXPECT_FALSE(wanted.empty());
  }
}

TEST_P(JournalConformance, OutcomesAreThoseOfTheRecordsOfAScan) {
  const int64_t run = journal_->begin_run({.device = "cpu"});
  auto crashed = record("a=3");
  crashed.outcome = {Status::crashed, "signal \"11\", {\\", {}, std::nullopt};
  auto screened = record("a=4");
  screened.stage = Stage::screen;
  journal_->append(
      std::vector<Entry>{started("a=1"), record("a=1"), crashed, decision("a=1"), screened, record("a=5")});
  for (const Query& query : {Query{}, Query{.run = run, .runs = true}, Query{.statuses = {"crashed"}},
                             Query{.stages = {Stage::screen}}, Query{.newest_first = true, .limit = 2},
                             Query{.after = run + 2}, Query{.before = run + 4, .newest_first = true, .bans = true}}) {
    Query of_records = query;
    of_records.started = of_records.decisions = of_records.pardons = of_records.runs = of_records.bans = false;
    std::vector<std::pair<EntryHeading, Outcome>> wanted, visited;
    journal_->scan(of_records, [&](const Entry& entry, const Stamp& stamp) {
      wanted.emplace_back(heading_of(entry, stamp), std::get<Record>(entry).outcome);
    });
    const auto take = [&](const EntryHeading& heading, const Outcome& outcome) {
      visited.emplace_back(heading, outcome);
    };
    EXPECT_EQ(journal_->visit_outcomes(query, take), 0u);
    EXPECT_EQ(visited, wanted);
    EXPECT_FALSE(wanted.empty());
  }
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

}  // namespace
}  // namespace attune
