// SPDX-License-Identifier: MIT
#include "store/fleet/fleet_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <stdexcept>
#include <thread>

#include "store/fleet/fleet_sql.h"
#include "testing/fleet/fleet_store_fixture.h"

namespace attune {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class FleetStoreTest : public FleetStoreFixture {};
INSTANTIATE_TEST_SUITE_P(Databases, FleetStoreTest, ::testing::ValuesIn(tested_databases()),
                         [](const auto& one) { return one.param; });

TEST_P(FleetStoreTest, SeveralProgramsMayMakeTheStoreAtOnce) {
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        open()->add_configurations({configuration(1), configuration(2 + i)});
        ::_exit(0);
      } catch (const Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        ::_exit(1);
      }
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(number("SELECT count(*) FROM configuration"), 7);
  EXPECT_EQ(number("SELECT count(*) FROM schema_version"), kFleetSchemaVersion);
}

TEST_P(FleetStoreTest, AnOlderStoreIsBroughtToThePresentSchema) {
  begin(*open(), 2);
  for (const char* table : {"golden", "golden_kernel", "foreign_result"}) run(std::string("DROP TABLE ") + table);
  run("DELETE FROM schema_version WHERE number > 1");
  open();
  EXPECT_EQ(number("SELECT count(*) FROM golden") + number("SELECT count(*) FROM foreign_result"), 0);
  EXPECT_EQ(number("SELECT max(number) FROM schema_version"), kFleetSchemaVersion);
  EXPECT_EQ(number("SELECT count(*) FROM configuration"), 2);
}

TEST_P(FleetStoreTest, RepeatedSetUpAddsNothing) {
  const auto store = open();
  const auto session = begin(*store, 3);
  EXPECT_EQ(store->add_configurations({configuration(1), configuration(4)}), 1u);
  EXPECT_EQ(store->set_solvers(store->solvers()), 0u);
  EXPECT_EQ(store->begin_session(fleet_test_environment(), "why"), session);
  EXPECT_NE(store->begin_session(fleet_test_environment(), "another"), session);
  auto other = fleet_test_environment();
  other.versions["a.conv"] = "2";
  EXPECT_NE(store->begin_session(other, "why"), session);
  EXPECT_EQ(store->load_jobs(load_of(session)), 4u * 2 * 2 + 4);  // Two steps, two solvers; a contest each.
  EXPECT_EQ(store->load_jobs(load_of(session)), 0u);
}

TEST_P(FleetStoreTest, WhatWasImportedFirstStays) {
  const auto store = open();
  auto one = configuration(1);
  store->add_configurations({one});
  one.source = "customer";
  one.tags = {"u"};
  one.is_recurrent = true;
  store->add_configurations({one});
  std::vector<FleetConfiguration> seen;
  store->visit_configurations("", [&](const FleetConfiguration& found) { seen.push_back(found); });
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].source, "benchmark");
  EXPECT_THAT(seen[0].tags, UnorderedElementsAre("t", "u"));
  EXPECT_TRUE(seen[0].is_recurrent);
  EXPECT_EQ(store->untag("u", {}), 1u);
  EXPECT_EQ(store->untag("u", {}), 0u);
}

TEST_P(FleetStoreTest, AMissingAnswerHasItsReason) {
  const auto store = open();
  const auto session = begin(*store, 2);
  auto load = load_of(session, {FleetStep::find_compile, FleetStep::find_eval});
  store->load_jobs(load);
  JobQueue& queue = store->queue();
  work(queue, session, {FleetStep::find_compile});
  const auto jobs = queue.claim(filter(session, {FleetStep::find_eval}), 1);
  ASSERT_EQ(jobs.size(), 1u);
  queue.commit(jobs[0], {.status = Status::unsupported, .detail = "no solver supports it"});
  std::vector<std::string> reasons;
  store->visit_answers(session, "t", [&](const FleetAnswer& answer) { reasons.push_back(answer.missing); });
  EXPECT_THAT(reasons,
              UnorderedElementsAre("find_eval: unsupported, no solver supports it", "1 job is not done: find_eval"));
}

TEST_P(FleetStoreTest, OnlyApplicableSolversGetJobsWhereThatIsAskedFor) {
  const auto store = open();
  const auto session = begin(*store, 2);
  auto load = load_of(session);
  load.only_applicable = true;
  EXPECT_THAT(refusal([&] { store->load_jobs(load); }), HasSubstr("attune applicability update --session 1"));
  const auto one = configuration(1).id, two = configuration(2).id;
  store->set_applicability(session, {{one, "a.conv", "", true},
                                     {one, "b.conv", "fp32 only", false},
                                     {two, "a.conv", "no", false},
                                     {two, "b.conv", "no", false}});
  EXPECT_EQ(store->load_jobs(load), 3u);  // Compile, eval and contest of one configuration.
  store->visit_answers(session, "t", [&](const FleetAnswer& answer) {
    const bool is_left_out = answer.configuration.id == two;
    EXPECT_EQ(answer.missing == "no jobs were loaded for it", is_left_out) << answer.missing;
  });
}

TEST_P(FleetStoreTest, AConfigurationWhoseContestIsOpenAgainHasNoAnswer) {
  const auto store = open();
  const auto session = begin(*store, 1);
  auto load = load_of(session);
  load.solvers = {"a.conv"};
  store->load_jobs(load);
  work(store->queue(), session, {FleetStep::perf_compile, FleetStep::perf_eval});
  const auto answer = [&] {
    FleetAnswer found;
    store->visit_answers(session, "t", [&](const FleetAnswer& one) { found = one; });
    return found;
  };
  EXPECT_TRUE(answer().decision);
  load.solvers = {"b.conv"};
  store->load_jobs(load);
  EXPECT_FALSE(answer().decision);
  EXPECT_THAT(answer().missing, HasSubstr("3 jobs are not done"));
}

TEST_P(FleetStoreTest, AnExceptionOfAVisitorEndsTheReading) {
  const auto store = open();
  const auto session = begin(*store, 2);
  EXPECT_THROW(store->visit_answers(session, "t", [](const FleetAnswer&) { throw std::runtime_error("enough"); }),
               std::runtime_error);
  EXPECT_GT(store->load_jobs(load_of(session)), 0u);
}

TEST_P(FleetStoreTest, AFindStepTakesNoChoiceOfSolvers) {
  const auto store = open();
  const auto session = begin(*store, 1);
  auto load = load_of(session, {FleetStep::find_compile, FleetStep::find_eval});
  load.solvers = {"a.conv"};
  EXPECT_THAT(refusal([&] { store->load_jobs(load); }), HasSubstr("without --solvers"));
  EXPECT_EQ(number("SELECT count(*) FROM job"), 0);
}

TEST_P(FleetStoreTest, WrongOrdersNameTheCommandThatComesFirst) {
  const auto store = open();
  EXPECT_THAT(refusal([&] { store->begin_session(fleet_test_environment(), "why"); }),
              HasSubstr("attune solvers update"));
  EXPECT_THAT(refusal([&] { store->load_jobs(load_of(7)); }), HasSubstr("attune session init"));
  store->set_solvers({{"a.conv", "1", "conv", true, "A"}});
  const auto session = store->begin_session(fleet_test_environment(), "why");
  EXPECT_THAT(refusal([&] { store->load_jobs(load_of(session)); }), HasSubstr("attune configs import -t t"));
  store->add_configurations({configuration(1)});
  EXPECT_THAT(refusal([&] { store->load_jobs(load_of(session, {FleetStep::perf_eval})); }),
              HasSubstr("attune jobs load --session 1 -t t --steps perf_compile,perf_eval -l why"));
  auto load = load_of(session);
  load.solvers = {"c.conv"};
  EXPECT_THAT(refusal([&] { store->load_jobs(load); }), HasSubstr("it has a.conv"));
}

TEST_P(FleetStoreTest, ASessionKeepsWhereItComesFrom) {
  const auto store = open();
  const auto plain = begin(*store, 1);
  EXPECT_EQ(store->session(plain).custody.ticket, "");
  const SessionCustody custody{.image = "sha256:1", .ticket = "T-7"};
  EXPECT_THAT(refusal([&] { store->begin_session(fleet_test_environment(), "why", custody); }),
              HasSubstr("this reason and no ticket, give another with -l"));
  const auto id = store->begin_session(fleet_test_environment(), "custody", custody);
  EXPECT_EQ(store->begin_session(fleet_test_environment(), "custody"), id);
  EXPECT_THAT(refusal([&] { store->begin_session(fleet_test_environment(), "custody", {.ticket = "T-8"}); }),
              HasSubstr("this reason and the ticket 'T-7'"));
  EXPECT_EQ(store->session(id).custody.image, "sha256:1");
  EXPECT_EQ(store->sessions().back().custody.ticket, "T-7");
}

TEST_P(FleetStoreTest, AnImportedSessionIsClosed) {
  const auto store = open();
  const SessionCustody custody{.image = "", .ticket = "", .source = "gfx90878.HIP.fdb.txt"};
  const auto id = store->import_session(fleet_test_environment(), "why", custody);
  EXPECT_EQ(store->import_session(fleet_test_environment(), "why", custody), id);
  const FleetSession session = store->session(id);
  EXPECT_EQ(session.state, "closed");
  EXPECT_EQ(session.custody.source, "gfx90878.HIP.fdb.txt");
  EXPECT_TRUE(session.solvers.empty());
  EXPECT_THAT(refusal([&] { store->import_session(fleet_test_environment(), "why", {.source = "b"}); }),
              HasSubstr("is imported from gfx90878.HIP.fdb.txt, give another with -l"));
  SessionCustody ordered = custody;
  ordered.ticket = "T-7";
  EXPECT_THAT(refusal([&] { store->import_session(fleet_test_environment(), "why", ordered); }),
              HasSubstr("has this reason and no ticket, give another with -l"));
  EXPECT_THAT(refusal([&] { store->import_session(fleet_test_environment(), "other", custody); }),
              HasSubstr("has the results of this source, which this would replace; name another with --source"));
  EXPECT_EQ(store->sessions().size(), 1u);
  EXPECT_NE(begin(*store, 1), id) << "a session of the same reason may begin";
  EXPECT_THAT(refusal([&] { store->load_jobs(load_of(id)); }), HasSubstr("closed"));
}

TEST_P(FleetStoreTest, QuotesAndSqlInLabelsAreData) {
  const auto store = open();
  const std::string label = "x'); DROP TABLE job; --\"\n:a ?1 ü";
  store->add_configurations({configuration(1, label)});
  store->set_solvers({{"a.conv", "1", "conv", true, label}});
  const auto session = store->begin_session(fleet_test_environment(), label);
  auto load = load_of(session);
  load.tag = load.reason = label;
  EXPECT_EQ(store->load_jobs(load), 3u);
  JobQueue& queue = store->queue();
  const auto jobs = queue.claim(filter(session, {FleetStep::perf_compile}, label), 1);
  EXPECT_TRUE(queue.commit(jobs.at(0), {.status = Status::crashed, .detail = label}));
  EXPECT_EQ(store->session(session).reason, label);
  size_t num_seen = 0;
  store->visit_jobs({.session = session, .tag = label, .failure = "crashed"}, [&](const JobRow& row) {
    ++num_seen;
    EXPECT_EQ(row.detail, label);
    EXPECT_EQ(row.reason, label);
  });
  EXPECT_EQ(num_seen, 1u);
}

TEST_P(FleetStoreTest, ANewerSchemaIsRefused) {
  open();
  run("INSERT INTO schema_version VALUES (99, 0, 'attune 99')");
  EXPECT_THAT(refusal([&] { open(); }),
              HasSubstr(fmt::format("schema 99 and this program supports up to {},", kFleetSchemaVersion)));
}

/// The first column of a row of Markdown, and the names in the second, without their quotes.
std::pair<std::string, std::string> row_of(const std::string& line) {
  std::string cells[2];
  size_t at = 0;
  for (std::string& cell : cells) {
    const size_t begin = line.find('|', at) + 1;
    at = line.find('|', begin);
    if (begin == 0 || at == std::string::npos) return {};
    for (const char one : line.substr(begin, at - begin)) {
      if (one != '`' && one != ' ') cell += one;
    }
  }
  return {cells[0], cells[1]};
}

TEST_P(FleetStoreTest, ThePageNamesEveryTableAndColumn) {
  open();
  std::map<std::string, std::string> tables;
  FleetSql sql(store_address(store_), 1000);
  const std::string schema = GetParam() == "mariadb" ? "DATABASE()" : "current_schema()";
  sql.each<std::string, std::string>(
      GetParam() == "sqlite" ? "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c"
                               " WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY m.name, c.cid"
                             : "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = " +
                                   schema + " ORDER BY table_name, ordinal_position",
      [&](const std::string& table, const std::string& column) {
        std::string& columns = tables[table];
        columns += (columns.empty() ? "" : ",") + column;
      });
  std::map<std::string, std::string> documented;
  std::ifstream page(std::string(ATTUNE_SOURCE_DIR) + "/docs/formats/fleet_store.md");
  for (std::string line; std::getline(page, line);) {
    const auto [table, columns] = row_of(line);
    if (tables.contains(table)) documented[table] = columns;
  }
  EXPECT_EQ(documented, tables);
}

TEST_P(FleetStoreTest, TextsDifferInCaseAndInBlanksAtTheEnd) {
  const auto store = open();
  for (const char* tag : {"tag", "Tag", "tag ", "täg"})
    EXPECT_EQ(store->add_configurations({configuration(1, tag)}), tag == std::string("tag"));
  EXPECT_EQ(number("SELECT count(*) FROM tag"), 4);
  store->set_solvers({{"a.conv", "1", "conv", true, "A"}});
  EXPECT_NE(store->begin_session(fleet_test_environment(), "why"),
            store->begin_session(fleet_test_environment(), "WHY"));
}

TEST_P(FleetStoreTest, TablesOfAnotherProgramAreRefusedAndUnchanged) {
  if (GetParam() == "sqlite") std::filesystem::create_directories(file().parent_path());
  run("CREATE TABLE mine (a INTEGER)");
  EXPECT_THAT(refusal([&] { open(); }), HasSubstr("another program's"));
  EXPECT_EQ(number("SELECT count(*) FROM mine"), 0);
}

TEST_P(FleetStoreTest, AMigrationThatWasInterruptedIsFinished) {
  open();
  run("DELETE FROM schema_version");
  run("DROP TABLE event");
  begin(*open(), 1);
  EXPECT_EQ(number("SELECT count(*) FROM event"), 0);
  EXPECT_EQ(number("SELECT max(number) FROM schema_version"), kFleetSchemaVersion);
}

TEST_P(FleetStoreTest, ThousandsOfRowsAreAddedAndFoundAgain) {
  constexpr int kCount = 1234;
  const auto store = open();
  const auto session = begin(*store, kCount);
  std::vector<FleetConfiguration> all;
  for (int i = 1; i <= kCount + 1; ++i) all.push_back(configuration(i));
  EXPECT_EQ(store->add_configurations(all), 1u);
  std::vector<FleetStore::Applicability> known;
  for (const FleetConfiguration& one : all) known.push_back({one.id, "a.conv", "", true});
  store->set_applicability(session, known);
  for (auto& one : known) one.applies = false, one.reason = "no";
  store->set_applicability(session, known);
  EXPECT_EQ(number("SELECT count(*) FROM applicability WHERE applicable = 0 AND reason = 'no'"), kCount + 1);
  EXPECT_EQ(store->load_jobs(load_of(session)), (kCount + 1) * 5u);
  EXPECT_EQ(store->load_jobs(load_of(session)), 0u);
}

TEST_P(FleetStoreTest, SessionsThatAreBegunAtOnceAreOne) {
  begin(*open(), 1);
  std::vector<int64_t> ids(4);
  std::vector<std::thread> threads;
  for (int64_t& id : ids)
    threads.emplace_back([&] { id = open()->begin_session(fleet_test_environment(), "another"); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(ids, ::testing::Each(ids.front()));
}

TEST_P(FleetStoreTest, LoadsAtOnceAddEachJobOnce) {
  const auto session = begin(*open(), 50);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { open()->load_jobs(load_of(session)); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(number("SELECT count(*) FROM job"), 250);
  EXPECT_EQ(work(open()->queue(), session, {FleetStep::perf_compile, FleetStep::perf_eval}), 250u);
}

TEST_P(FleetStoreTest, EventsAreFoundByTheirKindNewestFirst) {
  const auto store = open();
  const auto session = begin(*store, 1);
  for (const char* text : {"one", "it's \"two\"; --", "three"})
    store->add_event(session, {.at = {}, .agent = "host/1/x", .kind = "device_lost", .text = text});
  const auto found = store->events(session, "device_lost", 2);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].text, "three");
  EXPECT_EQ(found[1].text, "it's \"two\"; --");
  EXPECT_EQ(found[1].agent, "host/1/x");
  EXPECT_TRUE(store->events(session, "late_result", 2).empty());
  EXPECT_TRUE(store->events(session + 1, "device_lost", 2).empty());
}

}  // namespace
}  // namespace attune
