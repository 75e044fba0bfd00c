// SPDX-License-Identifier: MIT
#include "campaign/tune_display.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/file.h"
#include "base/text.h"
#include "device/fake/fake_device.h"
#include "measure/local_executor.h"
#include "process/temporary_folder.h"
#include "solver/registry.h"
#include "testing/campaign_values.h"

namespace attune {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string_view line : split(text, '\n')) lines.emplace_back(line);
  if (!lines.empty() && lines.back().empty()) lines.pop_back();  // The text after the last end of a line.
  return lines;
}

class DisplayOfTune : public testing::Test {
 protected:
  DisplayOfTune() {
    for (const Problem& problem : {one_, two_, three_}) inputs_.items.push_back({problem, std::nullopt});
    inputs_.family = find_family("gemm_a16w16");
    display_.emplace(options_, inputs_, flags_, progress_);
  }
  /// Returns the text that a call prints on standard output; `errors_` gets its standard error.
  template <typename Call>
  std::string printed(Call&& call) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    call();
    errors_ = testing::internal::GetCapturedStderr();
    return testing::internal::GetCapturedStdout();
  }
  std::string finished(const TuneResult& result) {
    return printed([&] { display_->finished(result); });
  }
  static TuneResult with_failure(TuneResult result) {
    Outcome outcome;
    outcome.status = Status::crashed;
    outcome.detail = "it crashed";
    result.failures.emplace_back(Candidate{"fake.gemm", "1", Config::parse("tile_m=8")}, outcome);
    result.num_candidates = 9;
    result.remarks = {"fake.gemm: a remark"};
    return result;
  }
  /// A row that stands in a table, with its candidate among the finalists or not.
  static WorkItem with_row(const Problem& problem, const std::string& config) {
    WorkItem item{problem, std::nullopt};
    item.incumbent = Incumbent{{"fake.gemm", "1", Config::parse(config)}, 30, ""};
    return item;
  }

  Problem one_ = test_problem(1), two_ = test_problem(2), three_ = test_problem(3);
  TuneOptions options_;
  TuneInputs inputs_;
  const std::string flags_ = "--devices fake:0";
  RunProgress progress_;
  std::optional<TuneDisplay> display_;
  std::string errors_;
};

TEST_F(DisplayOfTune, PrintsALineOfEachShapeInInputOrderBelowOneHeader) {
  EXPECT_EQ(finished(decided(two_, 20)), "") << "it waits for the first shape";
  const auto first = lines_of(finished(decided(one_, 10)));
  ASSERT_THAT(first, SizeIs(3));
  EXPECT_THAT(first[0], StartsWith("shape (M×N×K)"));
  EXPECT_THAT(first[1], StartsWith("1×32×48 fp32"));
  EXPECT_THAT(first[2], StartsWith("2×32×48 fp32"));
  const auto last = lines_of(finished(decided(three_, 30)));
  EXPECT_THAT(last, ElementsAre(StartsWith("3×32×48 fp32"))) << "the header is printed once";
}

TEST_F(DisplayOfTune, AnUndecidedShapeLetsTheNextOnesBePrinted) {
  finished(decided(two_, 20));
  const std::string text = finished(undecided(one_, Ending::unsupported, "no solver supports it"));
  EXPECT_THAT(text, HasSubstr("2×32×48 fp32"));
  EXPECT_EQ(errors_, "1×32×48 fp32: unsupported: no solver supports it\n");
}

TEST_F(DisplayOfTune, ADriverThatRefusesKernelsIsReportedOnce) {
  const auto refused = [&](const Problem& problem) {
    TuneResult result = with_failure(decided(problem, 10));
    result.failures.emplace_back(Candidate{"triton.gemm", "1", Config::parse("num_warps=4")},
                                 Outcome{.status = Status::load_failed, .detail = "device kernel image is invalid"});
    return result;
  };
  finished(refused(one_));
  EXPECT_EQ(
      errors_,
      "note: triton.gemm@1:num_warps=4 does not load, others that do not are only counted: device kernel image is "
      "invalid\n");
  finished(refused(two_));
  EXPECT_EQ(errors_, "");
}

TEST_F(DisplayOfTune, FlushPrintsWhatWaitsForAnEarlierShape) {
  finished(decided(three_, 30));
  finished(decided(two_, 20));
  const auto lines = lines_of(printed([&] { display_->flush(); }));
  EXPECT_THAT(lines, ElementsAre(StartsWith("shape"), StartsWith("2×32×48 fp32"), StartsWith("3×32×48 fp32")));
}

TEST_F(DisplayOfTune, PrintsNoTableBesideJson) {
  options_.json = true;
  EXPECT_EQ(finished(decided(one_, 10)), "");
  EXPECT_THAT(display_->decisions(), SizeIs(1));
}

TEST_F(DisplayOfTune, CountsWhatWasDecidedBeforeAndSaysWhyShapesWereCutOnce) {
  finished(undecided(one_, Ending::kept, "the table has its row"));
  EXPECT_EQ(errors_, "");
  finished(decided(two_, 20, Ending::reused));
  finished(undecided(three_, Ending::cut, "the budget is spent"));
  EXPECT_EQ(errors_, "") << "one line tells it of all shapes, at the end";
  EXPECT_EQ(display_->num_kept(), 1u);
  EXPECT_EQ(display_->num_reused(), 1u);
  printed([&] { display_->note_cut_shapes(); });
  EXPECT_EQ(errors_, "1 shape not decided, run again to continue: the budget is spent\n");
}

TEST_F(DisplayOfTune, ALostDeviceIsSaidAtOnceAndRemembered) {
  printed([&] { display_->device_lost({.id = "cuda:3"}, "it fails its probe"); });
  EXPECT_EQ(errors_, "note: cuda:3 was lost, the other devices take its shapes: it fails its probe\n");
  EXPECT_THAT(display_->lost(), ElementsAre(testing::Pair("cuda:3", "it fails its probe")));
}

TEST_F(DisplayOfTune, VerboseTellsOfFailedCandidatesWithTheCommandThatRepeatsThem) {
  options_.verbose = true;
  finished(with_failure(undecided(one_, Ending::kept, "the table has its row")));
  EXPECT_THAT(errors_, AllOf(HasSubstr("1×32×48 fp32: kept: the table has its row\n"),
                             HasSubstr("  9 candidates, 1 failed, "), HasSubstr("  fake.gemm: a remark\n"),
                             HasSubstr("  crashed: it crashed; attune bench "), HasSubstr("--devices fake:0\n")));
  options_.verbose = false;
  finished(with_failure(decided(two_, 1)));
  EXPECT_EQ(errors_, "");
}

TEST_F(DisplayOfTune, APublishedDecisionReplacesTheShapesOwn) {
  finished(decided(one_, 10));
  Decision published = *decided(one_, 12).decision;
  published.winner.config = Config::parse("tile_m=32");
  const std::string text = printed([&] { display_->note_replaced({published}); });
  EXPECT_THAT(text, StartsWith("published with the layout that all rows of a weight share:\n1×32×48 fp32"));
  EXPECT_THAT(text, AllOf(HasSubstr("tile_m=32"), HasSubstr("; alone 10.0 µs with fake tile_m=16\n")));
  EXPECT_THAT(display_->decisions(), ElementsAre(published));
  EXPECT_EQ(printed([&] { display_->note_replaced({}); }), "");
}

TEST_F(DisplayOfTune, ComparesARowBeforeWithTheRowAfter) {
  Decision faster = *decided(one_, 10).decision, over_row = *decided(two_, 10).decision,
           over_failure = *decided(three_, 10).decision;
  inputs_.items = {{one_, std::nullopt}, with_row(two_, "tile_m=4"), with_row(three_, "tile_m=5")};
  over_row.finalists = {{.candidate = inputs_.items[1].incumbent->candidate, .comparison = {.us = 15}}};
  const auto lines = lines_of(printed([&] { print_comparison({faster, over_row, over_failure}, inputs_); }));
  ASSERT_THAT(lines, SizeIs(5));
  EXPECT_EQ(lines[1], "before and after, measured interleaved:");
  EXPECT_THAT(lines[2], HasSubstr("20.0 µs →       10.0 µs   2.000×  fake tile_m=64 → fake tile_m=16"));
  EXPECT_THAT(lines[3], HasSubstr("15.0 µs →       10.0 µs   1.500×  fake tile_m=4 → fake tile_m=16"));
  EXPECT_THAT(lines[4], HasSubstr("failed now →       10.0 µs  fake tile_m=5 → fake tile_m=16"));
  EXPECT_EQ(printed([&] { print_comparison({}, inputs_); }), "");
}

TEST_F(DisplayOfTune, TheSummaryNamesTheFilesThatAreThere) {
  const TemporaryFolder folder("tune_display_test");
  inputs_.table = folder.path() / "t.csv";
  inputs_.yaml = folder.path() / "missing.yaml";
  write_file_atomically(inputs_.table, "");
  finished(undecided(one_, Ending::kept, ""));
  finished(decided(two_, 20, Ending::reused));
  TimeUse time;
  time[Activity::sample] = {2, 1};
  display_->device_ended(time);
  const auto lines = lines_of(printed([&] { print_summary(options_, inputs_, *display_, "/state/journal.db", {}); }));
  ASSERT_THAT(lines.size(), testing::Ge(3u));
  EXPECT_EQ(lines[0], "1 shape with a row already (--all tunes them again)");
  EXPECT_EQ(lines[1], "1 shape tuned before, taken from the journal (--all tunes them again)");
  EXPECT_EQ(lines[lines.size() - 2], "The device was busy for 50 % of 2.0 s: 100 % sampling, 0 % other");
  EXPECT_THAT(lines.back(), StartsWith("1 shape decided: "));
  EXPECT_THAT(lines.back(), testing::EndsWith("; table " + inputs_.table.string() + ", journal /state/journal.db"));
}

TEST_F(DisplayOfTune, JsonHoldsResultsFailuresSkippedShapesAndRecoveries) {
  FakeDevice device;
  const Registry solvers;
  Environment environment;
  environment.executor = std::make_unique<LocalExecutor>(device, solvers);
  environment.flags = flags_;
  inputs_.skipped = {{"list.csv:3 gemm", "too large"}};
  inputs_.table = "t.csv";
  const std::vector<TuneResult> results = {with_failure(decided(one_, 10)), undecided(two_, Ending::cut, "no time")};
  Decision published = *results[0].decision;
  published.winner.config = Config::parse("tile_m=32");
  published.comparison.us = 12;
  TimeUse time;
  time[Activity::verify] = {3, 2};
  const auto json = nlohmann::json::parse(printed([&] {
    print_results_json(results, inputs_, environment, {{Milliseconds(7), Milliseconds(9)}}, time, {published},
                       {{"fake:1", "gone"}});
  }));
  EXPECT_EQ(json["device"]["id"], "fake:0");
  EXPECT_EQ(json["device"]["key"], device.info().key());
  ASSERT_EQ(json["results"].size(), 2u);
  const auto& first = json["results"][0];
  EXPECT_EQ(first["problem"], one_.key());
  EXPECT_EQ(first["decided"], true);
  EXPECT_EQ(first["failed"][0]["status"], "crashed");
  EXPECT_THAT(first["failed"][0]["repeat"].get<std::string>(), testing::EndsWith(flags_));
  EXPECT_EQ(first["published"]["candidate"], "fake.gemm@1:tile_m=32");
  EXPECT_EQ(first["published"]["us"], 12);
  EXPECT_FALSE(first.contains("reason"));
  const auto& second = json["results"][1];
  EXPECT_EQ(second["reason"], "no time");
  EXPECT_EQ(second["decided"], false);
  EXPECT_FALSE(second.contains("published"));
  EXPECT_FALSE(second.contains("decision"));
  EXPECT_EQ(json["skipped"][0]["reason"], "too large");
  EXPECT_EQ(json["recoveries_ms"], nlohmann::json::array({7}));
  EXPECT_EQ(json["restorations_ms"], nlohmann::json::array({9}));
  EXPECT_EQ(json["table"], "t.csv");
  EXPECT_EQ(json["lost_devices"]["fake:1"], "gone");
  EXPECT_EQ(json["time"]["activities"]["verify"]["busy_s"], 2.0);
  EXPECT_EQ(first["time"]["wall_s"], 0.0);
}

}  // namespace
}  // namespace attune
