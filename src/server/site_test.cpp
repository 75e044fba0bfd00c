// SPDX-License-Identifier: MIT
// What a server answers about a journal that is written, broken and replaced meanwhile.
#include "server/site.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "formats/csv/ban_file.h"
#include "server/event_stream.h"
#include "testing/becomes_true.h"
#include "testing/environment.h"
#include "testing/server/site_fixture.h"

namespace attune {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

TEST_F(SiteTest, ShowsResultsAndThoseThatComeLater) {
  start();
  wait_for(1);
  const json row = data("results")["results"][0];
  EXPECT_EQ(row["problem"], kProblem.key());
  EXPECT_EQ(row["winner"], candidate("a=1").name());
  EXPECT_EQ(row["run"], run_);
  auto other = decision("a=2");
  other.problem = kOther;
  journal_->append(std::vector<Entry>{other});
  wait_for(2);
  EXPECT_EQ(data("results", {{"limit", "1"}})["results"][0]["problem"], kOther.key());
  const json first = data("results", {{"limit", "1"}});
  const json second = data("results", {{"limit", "1"}, {"after", first["next"].dump()}});
  EXPECT_EQ(second["results"][0]["problem"], kProblem.key());
  EXPECT_TRUE(second["next"].is_null());
}

TEST_F(SiteTest, TellsRunsDevicesAndTheStoryOfAProblem) {
  start();
  wait_for(1);
  const json run = data("runs")["runs"][0];
  EXPECT_EQ(run["state"], "open");
  EXPECT_EQ(run["records"], 2);
  EXPECT_EQ(run["decisions"], 1);
  EXPECT_EQ(run["problems"], 3);
  EXPECT_EQ(run["faster"], 0);
  EXPECT_EQ(run["geometric_mean"], 1);
  EXPECT_EQ(run["failures"], json({{"crashed", 1}}));
  EXPECT_GE(run["left_s"], 0);
  EXPECT_GT(run["candidates_a_minute"], 0);
  EXPECT_GE(run["last_ms"], run["at_ms"]);
  journal_->append(std::vector<Entry>{RunEnd{"done", 0, {}}});
  EXPECT_TRUE(becomes_true([&] { return data("runs")["runs"][0]["state"] == "done"; }));
  EXPECT_TRUE(data("runs")["runs"][0]["left_s"].is_null());
  EXPECT_EQ(data("devices")["devices"][0]["runs"], 1);
  const json story = data("problem", {{"key", kProblem.key()}});
  EXPECT_EQ(story["decisions"].size(), 1u);
  ASSERT_EQ(story["candidates"].size(), 2u);
  EXPECT_EQ(story["candidates"][0]["ending"], "won");
  EXPECT_EQ(story["candidates"][0]["samples"].size(), 2u);
  EXPECT_EQ(story["candidates"][1]["status"], "crashed");
  EXPECT_THAT(story["candidates"][1]["detail"].get<std::string>(), HasSubstr("<b>")) << "pages show texts as texts";
  EXPECT_LT(story["candidates"][1]["detail"].get<std::string>().size(), 2100u);
  EXPECT_EQ(ask("/api/v1/problem", {{"key", kOther.key()}}).status, 404);
}

TEST_F(SiteTest, EachDeviceHasItsOwnWinner) {
  auto there = decision("a=3");
  there.device = "g/4";
  auto fast = record("a=3"), slow = record("a=1");
  fast.device = slow.device = "g/4";
  fast.stage = slow.stage = Stage::final;
  journal_->append(std::vector<Entry>{slow, fast, there});
  start();
  const json story = data("problem", {{"key", kProblem.key()}});
  std::map<std::string, std::string> endings;
  for (const json& one : story["candidates"])
    endings[one["device"].get<std::string>() + " " + one["candidate"].get<std::string>()] = one["ending"];
  const std::string first = candidate("a=1").name(), third = candidate("a=3").name();
  EXPECT_EQ(endings, (std::map<std::string, std::string>{{"g/2 " + first, "won"},
                                                         {"g/2 " + third, "failed"},
                                                         {"g/4 " + first, "lost the final"},
                                                         {"g/4 " + third, "won"}}));
  EXPECT_EQ(data("problem", {{"key", kProblem.key()}, {"device", "g/4"}})["candidates"].size(), 2u);
}

TEST_F(SiteTest, PagesOfEntriesEnd) {
  start();
  EXPECT_EQ(data("entries", {{"limit", "1000"}})["entries"].size(), 5u);
  const auto pages = [&](const std::string& limit) {
    constexpr int kMostPages = 50;
    std::vector<int64_t> ids;
    std::string after = "0";
    for (int i = 0; i < kMostPages && !after.empty(); ++i) {
      const json page = data("entries", {{"limit", limit}, {"after", after}});
      for (const json& one : page["entries"]) ids.push_back(one["id"]);
      after = page["next"].is_null() ? "" : page["next"].dump();
    }
    EXPECT_EQ(after, "") << "the last page says that it is the last";
    return ids;
  };
  const std::vector<int64_t> all = {1, 2, 3, 4, 5};
  for (const char* limit : {"1", "2", "5", "6"}) EXPECT_EQ(pages(limit), all) << limit;
  for (int i = 0; i < 27; ++i) journal_->append(std::vector<Entry>{started("a=1")});
  EXPECT_EQ(pages("1000").size(), 32u);
  EXPECT_EQ(pages("16").size(), 32u);
  const json beyond = data("entries", {{"after", "99999999"}});
  EXPECT_TRUE(beyond["entries"].empty());
  EXPECT_TRUE(beyond["next"].is_null());
}

TEST_F(SiteTest, APageOfEntriesIsBounded) {
  constexpr size_t kEntryBytes = 60'000, kMebibyte = 1 << 20;
  auto large = record("a=1");
  large.outcome.detail = std::string(kEntryBytes, 'x');
  journal_->append(std::vector<Entry>(40, large));
  journal_->append(std::vector<Entry>{started("a=9")});
  start();
  const HttpAnswer answer = ask("/api/v1/entries", {{"limit", "1000"}});
  EXPECT_LT(answer.body.size(), kMebibyte + 2 * kEntryBytes);
  const json first = json::parse(answer.body);
  EXPECT_GT(first["entries"].size(), 17u);
  EXPECT_EQ(first["next"], first["entries"].back()["id"]);
  size_t num_entries = first["entries"].size();
  for (json page = first; !page["next"].is_null();) {
    page = data("entries", {{"limit", "1000"}, {"after", page["next"].dump()}});
    num_entries += page["entries"].size();
  }
  EXPECT_EQ(num_entries, 46u);
}

TEST_F(SiteTest, TellsWhatIsInQuarantineAndWhatIsBanned) {
  const TestEnvironment home("ATTUNE_HOME", folder_.path().string());
  const Ban ban{"fake.gemm", "", kOther.key(), "<b>no</b>"};
  change_ban_file(folder_.path() / "overlay/banned.csv", [&](std::vector<Ban>& bans) {
    bans = {ban, {"other.gemm", "g/2", "", "no"}};
  });
  journal_->append(std::vector<Entry>{BanChange{ban, "me@here", false}});
  auto dead = record("a=4");
  dead.stage = Stage::verify;
  dead.outcome = {Status::timed_out, "it took too long", {}, std::nullopt};
  auto well = dead;
  well.outcome = {};
  journal_->append(std::vector<Entry>{dead});
  start();
  wait_for(1);
  const json page = data("quarantine");
  ASSERT_EQ(page["quarantine"].size(), 2u);
  EXPECT_EQ(page["quarantine"][0]["status"], "timed_out");
  EXPECT_EQ(page["quarantine"][0]["detail"], "it took too long");
  EXPECT_LT(page["quarantine"][1]["detail"].get<std::string>().size(), 600u);
  const json first = data("quarantine", {{"limit", "1"}});
  EXPECT_EQ(data("quarantine", {{"limit", "1"}, {"before", first["next"].dump()}})["quarantine"][0]["status"],
            "crashed");
  journal_->append(std::vector<Entry>{well, Pardon{"g/2", candidate("a=3")}});
  EXPECT_TRUE(becomes_true([&] { return data("quarantine")["quarantine"].empty(); }));
  const json bans = data("bans");
  ASSERT_EQ(bans["bans"].size(), 2u);
  EXPECT_EQ(bans["bans"][0]["reason"], "<b>no</b>");
  EXPECT_EQ(bans["bans"][0]["by"], "me@here");
  EXPECT_EQ(bans["bans"][1]["by"], "");
  EXPECT_TRUE(bans["next"].is_null());
  EXPECT_EQ(data("bans", {{"limit", "1"}, {"after", "1"}})["bans"][0]["candidate"], "other.gemm");
  const std::string events = *ask("/events", {{"after", "0"}}).parts();
  EXPECT_THAT(events, HasSubstr("\"kind\":\"pardoned\""));
  EXPECT_THAT(events, HasSubstr("\"kind\":\"ban\""));
}

TEST_F(SiteTest, ShowsTheTablesBesideTheJournal) {
  const RowSummaries published{.rows = {{.family = "gemm_a16w16",
                                         .place = "t.csv:2",
                                         .problem = kProblem.key(),
                                         .device = "g/2",
                                         .kernel = "<script>",
                                         .us = std::nullopt,
                                         .is_taken = true,
                                         .use = "is taken"}},
                               .notices = {"a row is skipped"}};
  int num_read = 0;
  site_ = std::make_unique<Site>(std::vector{file_}, AccessRule({"127.0.0.1", 80}, {}, std::nullopt), [&] {
    ++num_read;
    return std::make_shared<const RowSummaries>(published);
  });
  wait_for(1);
  const json page = data("tables");
  ASSERT_EQ(page["tables"].size(), 1u);
  EXPECT_EQ(page["tables"][0]["state"], "other");
  EXPECT_EQ(page["tables"][0]["row"]["kernel"], "<script>");
  EXPECT_TRUE(page["tables"][0]["row"]["us"].is_null());
  EXPECT_EQ(page["tables"][0]["result"]["winner"], candidate("a=1").name());
  EXPECT_EQ(page["counts"]["other"], 1);
  EXPECT_EQ(page["notices"][0], "a row is skipped");
  EXPECT_EQ(data("tables", {{"state", "same"}})["found"], 0);
  EXPECT_EQ(ask("/api/v1/tables", {{"state", "wrong"}}).status, 400);
  EXPECT_EQ(num_read, 1) << "a page that many look at reads them once";
}

TEST_F(SiteTest, AWrongParameterIsASentence) {
  start();
  const std::vector<std::pair<std::string, std::map<std::string, std::string>>> wrong = {
      {"results", {{"limit", "0"}}},
      {"results", {{"limit", "1001"}}},
      {"results", {{"limit", "1e3"}}},
      {"results", {{"sort", "size"}}},
      {"results", {{"order", "up"}}},
      {"results", {{"verdict", "best"}}},
      {"results", {{"after", "-1"}}},
      {"results", {{"nonsense", "1"}}},
      {"runs", {{"before", "99999999999999999999"}}},
      {"problem", {}},
      {"problem", {{"key", "m="}}},
      {"entries", {{"after", "x"}}}};
  for (const auto& [path, query] : wrong) {
    const HttpAnswer answer = ask("/api/v1/" + path, query);
    EXPECT_EQ(answer.status, 400) << path << " " << answer.body;
    EXPECT_TRUE(json::parse(answer.body).contains("error"));
  }
  EXPECT_EQ(ask("/api/v1/nothing").status, 404);
  EXPECT_EQ(ask("/../../etc/passwd").status, 404);
  EXPECT_EQ(ask("").status, 400);
  EXPECT_EQ(ask("*").status, 400);
  EXPECT_EQ(ask("/app.js").status, 200);
  EXPECT_EQ(ask("/pages/results").type, "text/html; charset=utf-8");
}

TEST_F(SiteTest, AnAnswerThatTheClientHasIsNotSentAgain) {
  journal_->append(std::vector<Entry>{RunEnd{"done", 0, {}}});  // What a run does now changes with the time.
  start();
  wait_for(1);
  const HttpAnswer first = ask("/api/v1/runs");
  const auto tag = std::ranges::find(first.headers, "ETag", &std::pair<std::string, std::string>::first);
  ASSERT_NE(tag, first.headers.end());
  EXPECT_EQ(ask("/api/v1/runs", {}, tag->second).status, 304);
  journal_->begin_run({});
  EXPECT_TRUE(becomes_true([&] { return ask("/api/v1/runs", {}, tag->second).status == 200; }));
}

TEST_F(SiteTest, StreamsEntriesFromACursorOn) {
  start();
  wait_for(1);
  const HttpAnswer old = ask("/events", {{"after", "0"}});
  ASSERT_TRUE(old.parts);
  const std::string text = *old.parts();
  EXPECT_THAT(text, HasSubstr("id: 1\ndata: {\"id\":1,"));
  EXPECT_THAT(text, HasSubstr("\"kind\":\"decision\""));
  const HttpAnswer fresh = ask("/events");
  EXPECT_EQ(*fresh.parts(), "") << "it begins at the newest entry";
  journal_->append(std::vector<Entry>{started("a=9")});
  std::string later;
  EXPECT_TRUE(becomes_true([&] { return !(later = *fresh.parts()).empty(); }));
  EXPECT_THAT(later, HasSubstr("a=9"));
  EXPECT_EQ(ask("/events", {{"after", "x"}}).status, 400);
}

TEST_F(SiteTest, AStreamWithoutEntriesSaysSoAfterAWhile) {
  EXPECT_EQ(kEventKeepAlive, std::chrono::seconds(15));
  ServedJournal journal(file_);
  const JournalWatch watch(file_);
  EXPECT_TRUE(becomes_true([&] { return watch.state().newest_id > 0; }));
  const HttpRequest request{.method = "GET", .path = "/events", .host = "127.0.0.1"};
  const HttpAnswer often = event_stream(request, journal, watch, std::chrono::milliseconds(700));
  EXPECT_EQ(*often.parts(), "") << "half a second is not so long";
  EXPECT_EQ(*often.parts(), ": nothing new\n\n") << "a comment, which is no event";
  EXPECT_EQ(*often.parts(), "") << "it begins anew";
}

TEST_F(SiteTest, AStreamFromBeyondTheEndBeginsThere) {
  start();
  wait_for(1);
  const HttpAnswer by_query = ask("/events", {{"after", "1000"}});
  const HttpAnswer by_header =
      site_->answer({.method = "GET", .path = "/events", .host = "127.0.0.1", .last_event_id = "1000"});
  EXPECT_EQ(*by_query.parts(), "");
  journal_->append(std::vector<Entry>{started("a=9")});
  for (const HttpAnswer* stream : {&by_query, &by_header}) {
    std::string later;
    EXPECT_TRUE(becomes_true([&] { return !(later = *stream->parts()).empty(); }));
    EXPECT_THAT(later, HasSubstr("a=9"));
    EXPECT_THAT(later, Not(HasSubstr("decision")));
  }
}

TEST_F(SiteTest, AJournalThatIsCompactedIsReadOn) {
  journal_->append(std::vector<Entry>{started("a=5"), record("a=5")});
  start();
  wait_for(1);
  const HttpAnswer events = ask("/events");
  journal_->compact();
  EXPECT_EQ(data("problem", {{"key", kProblem.key()}})["decisions"].size(), 1u);
  auto other = decision("a=2");
  other.problem = kOther;
  journal_->append(std::vector<Entry>{other});
  wait_for(2);
  std::string later;
  EXPECT_TRUE(becomes_true([&] { return !(later = *events.parts()).empty(); }));
  EXPECT_THAT(later, HasSubstr("\"kind\":\"decision\""));
  EXPECT_EQ(data("runs")["runs"][0]["records"], 3) << "nothing is read twice";
  EXPECT_EQ(data("entries")["entries"].size(), 6u) << "the announcements of what has been measured are gone";
  EXPECT_EQ(data("state")["failure"], "");
}

TEST_F(SiteTest, ATornJournalIsASentenceUntilItIsReplaced) {
  for (int i = 0; i < 100; ++i) journal_->append(std::vector<Entry>{record("a=1")});
  auto good = folder_.path() / "good.db";
  journal_->compact();
  journal_.reset();  // All of it lies in the file now.
  std::filesystem::copy_file(file_, good);
  start();
  wait_for(1);
  {
    std::fstream torn(file_, std::ios::in | std::ios::out | std::ios::binary);
    torn.seekp(100);  // Behind SQLite's header, by which the file is still taken for a journal.
    torn << std::string(std::filesystem::file_size(file_) - 100, '\x5a');
  }
  for (const char* path :
       {"/api/v1/entries", "/api/v1/results", "/api/v1/quarantine", "/api/v1/state", "/events", "/"}) {
    const HttpAnswer answer = ask(path);
    EXPECT_TRUE(answer.status == 200 || answer.status == 503) << path << " " << answer.status;
    if (answer.status == 503) {
      EXPECT_NE(json::parse(answer.body)["error"], "") << path;
    }
  }
  EXPECT_EQ(ask("/api/v1/problem", {{"key", kOther.key()}}).status, 503) << "it is not known that it has none";
  std::filesystem::rename(good, file_);
  wait_for(1);
  EXPECT_EQ(ask("/api/v1/problem", {{"key", kProblem.key()}}).status, 200);
  EXPECT_EQ(data("state")["failure"], "");
}

TEST_F(SiteTest, AReplacedJournalIsReadAnew) {
  start();
  wait_for(1);
  const HttpAnswer events = ask("/events");
  const auto fresh_file = folder_.path() / "fresh.db";
  auto fresh = open_sql_journal(fresh_file);
  auto other = decision("a=2");
  other.problem = kOther;
  fresh->append(std::vector<Entry>{other, decision("a=2"), decision("a=1")});
  fresh.reset();
  journal_.reset();
  for (const char* beside : {"-wal", "-shm"}) std::filesystem::remove(file_.string() + beside);
  std::filesystem::rename(fresh_file, file_);
  wait_for(3);
  std::string last;
  EXPECT_TRUE(becomes_true([&] {
    const auto part = events.parts();
    if (part) last += *part;
    return !part;
  })) << "the stream of the old one ends";
  EXPECT_THAT(last, HasSubstr("event: replaced"));
}

TEST_F(SiteTest, AJournalThatIsGoneIsASentenceAndNoEnd) {
  journal_.reset();
  std::filesystem::remove(file_);
  start();
  EXPECT_EQ(ask("/api/v1/entries").status, 503);
  EXPECT_EQ(ask("/").status, 200);
  EXPECT_TRUE(becomes_true([&] { return data("state")["failure"] != ""; }));
  journal_ = open_sql_journal(file_);
  journal_->append(std::vector<Entry>{decision("a=1")});
  wait_for(1);
  EXPECT_EQ(data("state")["failure"], "");
}

TEST_F(SiteTest, MetricsCountWhatTheJournalHolds) {
  start();
  wait_for(1);
  const std::string text = ask("/metrics").body;
  EXPECT_THAT(text, HasSubstr("attune_runs{state=\"open\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("attune_problems_total{ending=\"tie\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("attune_candidates_total{status=\"crashed\",solver=\"fake.gemm\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("attune_worker_deaths_total 1\n"));
}

class JournalsTest : public SiteTest {
 protected:
  JournalsTest() : other_file_(folder_.path() / "other.db"), other_(open_sql_journal(other_file_)) {
    auto there = decision("a=2");
    there.problem = kOther;
    other_->append(std::vector<Entry>{there});
    site_ = std::make_unique<Site>(std::vector{file_, other_file_}, AccessRule({"127.0.0.1", 80}, {}, std::nullopt));
  }
  std::string problem_at(const std::string& prefix) {
    json page;
    EXPECT_TRUE(becomes_true([&] {
      page = json::parse(ask(prefix + "/api/v1/results").body);
      return page.contains("results") && page["complete"].get<bool>() && page["found"] == 1;
    })) << prefix;
    return page["results"][0]["problem"];
  }

  std::filesystem::path other_file_;
  std::unique_ptr<Journal> other_;
};

TEST_F(JournalsTest, AreServedApart) {
  EXPECT_EQ(problem_at(""), kProblem.key());
  EXPECT_EQ(problem_at("/journals/1"), kProblem.key());
  EXPECT_EQ(problem_at("/journals/2"), kOther.key());
  EXPECT_EQ(ask("/journals/2/api/v1/problem", {{"key", kOther.key()}}).status, 200);
  EXPECT_EQ(ask("/journals/2/api/v1/problem", {{"key", kProblem.key()}}).status, 404);
  EXPECT_EQ(ask("/journals/2/api/v1/results", {{"limit", "0"}}).status, 400);
  EXPECT_THAT(*ask("/journals/2/events", {{"after", "0"}}).parts(), HasSubstr(kOther.key()));
  for (const char* page : {"/journals/2", "/journals/2/", "/journals/2/pages/results"})
    EXPECT_EQ(ask(page).body, ask("/").body) << page;
  const json journals = data("journals")["journals"];
  EXPECT_EQ(journals, json::parse(R"([{"number": 1, "name": "journal.db", "pages": "/journals/1/"},
                                      {"number": 2, "name": "other.db", "pages": "/journals/2/"}])"));
}

TEST_F(JournalsTest, HaveTheirNumbersAndNoOthers) {
  for (const char* number : {"0", "3", "33", "-1", "x", "", "1x", "18446744073709551617"}) {
    for (const char* path : {"", "/", "/pages/results", "/api/v1/runs", "/events"})
      EXPECT_EQ(ask(std::string("/journals/") + number + path).status, 404) << number << path;
  }
}

TEST_F(JournalsTest, AreToldApartByMetricsAndHealth) {
  problem_at("/journals/1");
  problem_at("/journals/2");
  const std::string text = ask("/metrics").body;
  EXPECT_THAT(text, HasSubstr("attune_runs{journal=\"1\",state=\"open\"} 1\n"
                              "attune_runs{journal=\"2\",state=\"open\"} 0\n"))
      << "all samples of a name stand together";
  EXPECT_THAT(text, HasSubstr("attune_worker_deaths_total{journal=\"1\"} 1\n"
                              "attune_worker_deaths_total{journal=\"2\"} 0\n"));
  EXPECT_EQ(ask("/healthz").body, "ok\n");
  other_.reset();
  for (const char* part : {"", "-wal", "-shm"}) std::filesystem::remove(other_file_.string() + part);
  EXPECT_TRUE(becomes_true([&] { return ask("/healthz").status == 503; }));
  EXPECT_EQ(ask("/healthz").body, "journal 2 cannot be read\n");
  EXPECT_EQ(ask("/api/v1/entries").status, 200);
}

}  // namespace
}  // namespace attune
