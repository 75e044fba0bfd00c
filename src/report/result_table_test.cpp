// SPDX-License-Identifier: MIT
#include "report/result_table.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "report/result_json.h"
#include "search/contest_options.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

Decision decision(double ratio, double half_width, Verdict verdict) {
  Decision made;
  made.problem = Problem::parse("gemm_a16w16 m=1 n=32 k=48 dtype=bf16 outdtype=fp32 bias=1");
  made.winner = Candidate::parse("onednn.gemm@1:impl=brgemm;threads=2");
  made.verdict = verdict;
  made.baseline_us = 100;
  made.comparison.us = 100 / ratio;
  made.comparison.ratio = ratio;
  made.comparison.interval = {ratio / (1 + half_width), ratio * (1 + half_width)};
  return made;
}

TEST(ResultTable, TheMeanGainIsGeometricWithAnIntervalThatShrinksWithTheShapes) {
  const std::vector<Decision> all = {decision(2.0, 0.1, Verdict::faster), decision(0.5, 0.1, Verdict::tie),
                                     decision(1.0, 0.1, Verdict::baseline), decision(1.331, 0.1, Verdict::faster)};
  const Summary summary = summarise(all);
  EXPECT_EQ(summary.num_decided, 4u);
  EXPECT_EQ(summary.num_default_fastest, 1u);
  EXPECT_EQ(summary.num_faster, 2u);
  EXPECT_EQ(summary.num_tied, 1u);
  EXPECT_NEAR(summary.mean, std::pow(1.331, 0.25), 1e-12);
  // Four equal deviations of ln(1.1): the deviation of their mean is half of it.
  EXPECT_NEAR(summary.high, summary.mean * std::sqrt(1.1), 1e-9);
  EXPECT_NEAR(summary.low, summary.mean / std::sqrt(1.1), 1e-9);
}

TEST(ResultTable, AnUnfinishedTieIsNoPartOfTheSummaryButItsCount) {
  Decision unfinished = decision(1.0, 0.1, Verdict::tie), proven = decision(2.0, 0.1, Verdict::faster);
  unfinished.incomplete = unfinished.noisy = proven.incomplete = true;
  const std::vector<Decision> all = {proven, unfinished, decision(1.0, 0.1, Verdict::baseline),
                                     decision(1.0, 0.1, Verdict::required)};
  const Summary summary = summarise(all);
  EXPECT_EQ(summary.num_decided, 3u);
  EXPECT_EQ(summary.num_tied, 0u);
  EXPECT_EQ(summary.num_unfinished, 1u);
  EXPECT_EQ(summary.num_noisy, 0u);
  EXPECT_NEAR(summary.mean, std::cbrt(2.0), 1e-12);
  EXPECT_EQ(
      summary_text(summary),
      "3 shapes decided: geometric mean 1.260× over the default [1.192, 1.331], 1.000× over the best "
      "default; 1 faster, 1 keeps the default (0 tied with it, 1 where it is the fastest), 1 as --require asks; 1 "
      "tie left unfinished, which keeps the default until another run continues");
  EXPECT_EQ(summary_text(summarise(std::vector{unfinished})),
            "no shape was decided now; 1 tie left unfinished, which keeps the default until another run continues");
  EXPECT_EQ(summary_text({}), "no shape was decided now");
}

TEST(ResultTable, AShapeWithoutADefaultShowsNoGainAndIsNoPartOfAMean) {
  const Decision none = decision(6.748, 0.1, Verdict::no_default);
  const std::string line = result_line(none);
  EXPECT_THAT(line, EndsWith("no default"));
  EXPECT_THAT(line, HasSubstr(" none "));
  EXPECT_THAT(line, Not(HasSubstr("6.7")));
  const auto json = nlohmann::json::parse(decision_json(none, ""));
  EXPECT_EQ(json["verdict"], "no_default");
  for (const char* member : {"default", "default_us", "speedup", "interval"}) EXPECT_TRUE(json[member].is_null());
  const Summary summary = summarise(std::vector{none, decision(2, 0.1, Verdict::faster)});
  EXPECT_NEAR(summary.mean, 2, 1e-12);
  EXPECT_THAT(summary_text(summary), HasSubstr("1 without a default, which no mean includes"));
  EXPECT_THAT(summary_text(summarise(std::vector{none})), Not(HasSubstr("mean 1")));
}

Decision of_type(const char* type, Verdict verdict) {
  Decision one = decision(1, 0.1, verdict);
  one.problem = Problem::parse(fmt::format("gemm_a16w16 m=4 n=8 k=16 bias=0 dtype={0} outdtype={0}", type));
  one.device_id = "cpu:0";
  return one;
}

TEST(ResultTable, NoticesNameThePackageWhoseSolverIsMissingOnceForAType) {
  const Registry no_solvers;
  const std::vector<Decision> decisions = {of_type("bf16", Verdict::no_default), of_type("fp16", Verdict::no_default),
                                           of_type("bf16", Verdict::no_default), of_type("fp32", Verdict::faster)};
  EXPECT_EQ(default_notices(decisions, no_solvers),
            (std::vector<std::string>{"no library that takes part serves bf16 on cpu:0; libdnnl-dev does",
                                      "no library that takes part serves fp16 on cpu:0"}));
}

TEST(ResultTable, TheLegendExplainsTheWordsThatOccur) {
  EXPECT_THAT(result_legend({}), IsEmpty());
  Decision made = decision(1.25, 0.02, Verdict::faster);
  EXPECT_THAT(result_legend(std::vector{made}), ElementsAre(StartsWith("default: ")));
  made.pause_cut = true;
  made.best_default = BestDefault{Candidate::parse("blis.gemm@1:threads=2"), 88, 1.1};
  Decision fastest = decision(1, 0.02, Verdict::baseline);
  EXPECT_THAT(verdict_text(fastest), StartsWith("default is fastest"));
  EXPECT_THAT(result_legend(std::vector{made, fastest}),
              ElementsAre(StartsWith("default: "), StartsWith("default is fastest: "),
                          StartsWith("n× the best default: "), StartsWith("confirmed without the pause: ")));
}

TEST(ResultTable, TheLegendExplainsWhatWasRequiredAndTheGainOfNoisySamples) {
  Decision made = decision(0.9, 0.02, Verdict::required);
  made.noisy = true;
  EXPECT_THAT(
      result_legend(std::vector{made}),
      ElementsAre(StartsWith("default: "), StartsWith("required: the default does not keep what --require asks"),
                  HasSubstr(fmt::format("at least {:g} % faster", 100 * ConfirmOptions().noisy_gain))));
}

TEST(ResultTable, TheWinnerIsMarkedAmongTheFinalists) {
  Decision made = decision(1.25, 0.02, Verdict::faster);
  made.baseline = Candidate::parse("onednn.gemm@1:impl=gemm");
  for (const Candidate& one : {made.baseline, made.winner, Candidate::parse("blis.gemm@1:threads=2")})
    made.finalists.push_back({.candidate = one});
  EXPECT_THAT(finalist_lines(made),
              ElementsAre(EndsWith("impl=gemm  (the default)"), EndsWith("threads=2  (the winner)"),
                          EndsWith("blis.gemm@1:threads=2")));
  made.device_id = "cuda:1";
  const auto shown = nlohmann::json::parse(decision_json(made, ""));
  EXPECT_EQ(shown["device_id"], "cuda:1");
  const auto finalists = shown["finalists"];
  EXPECT_EQ(finalists[0]["winner"], false);
  EXPECT_EQ(finalists[1]["winner"], true);
  made.winner = made.baseline;
  EXPECT_THAT(finalist_lines(made)[0], EndsWith("  (the winner)  (the default)"));
}

TEST(ResultTable, FinalistsAreListedFastestFirst) {
  Decision made = decision(1.25, 0.02, Verdict::faster);
  for (const double us : {7.0, 5.0, 9.0})
    made.finalists.push_back({.candidate = Candidate::parse("blis.gemm@1:threads=2"), .comparison = {.us = us}});
  const auto lines = finalist_lines(made);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], HasSubstr("5.00 µs"));
  EXPECT_THAT(lines[1], HasSubstr("7.00 µs"));
  EXPECT_THAT(lines[2], HasSubstr("9.00 µs"));
}

TEST(ResultTable, ALineNamesShapeWinnerTimesIntervalAndVerdict) {
  const std::string line = result_line(decision(1.25, 0.02, Verdict::faster));
  for (const char* part : {"1×32×48 bf16→fp32 +bias", "100.0 µs", "onednn impl=brgemm threads=2", "80.0 µs", "1.250×",
                           "[1.225, 1.275]", "faster"})
    EXPECT_THAT(line, HasSubstr(part));
  EXPECT_THAT(line, Not(HasSubstr("noisy")));
}

TEST(ResultTable, AShapeNamesItsEpilogue) {
  EXPECT_EQ(short_shape(Problem::parse("gemm_a16w16 m=1 n=2 k=3 dtype=bf16 outdtype=bf16 bias=1 act=gelu beta=any")),
            "1×2×3 bf16 +bias act=gelu beta=any");
}

TEST(ResultTable, AShapeNamesWhatItsFamilyHasBesideTheDefaults) {
  EXPECT_EQ(
      short_shape(Problem::parse("gemm_a16w16 m=1 n=2 k=3 dtype=bf16 outdtype=fp32 bias=0 bpreshuffle=1 trans_b=0 "
                                 "out_scale=1")),
      "1×2×3 bf16→fp32 +bpreshuffle trans_b=0 +out_scale");
  EXPECT_EQ(short_shape(Problem::parse("batched_gemm_bf16 batch=4 m=1 n=2 k=3")), "4×1×2×3");
  EXPECT_EQ(short_shape(Problem::parse("gemm_a8w8 m=1 n=2 k=3 q_dtype_w=e4m3fn")), "1×2×3 e4m3fn");
  EXPECT_EQ(short_shape(Problem::parse("gemm_a16w16 m=1 n=2 k=3 dtype=bf16")), "1×2×3 bf16");
  EXPECT_EQ(short_shape(Problem::parse("no_op m=1")), "no_op m=1");
  EXPECT_EQ(short_shape(Problem::parse("gemm_a16w16 m=1 k=3")), "gemm_a16w16 m=1 k=3");
}

TEST(ResultTable, TheHeadingNamesTheSizesOfTheOp) {
  EXPECT_THAT(result_header("gemm_a16w16"), testing::StartsWith("shape (M×N×K)    "));
  EXPECT_THAT(result_header("batched_gemm_bf16"), testing::StartsWith("shape (B×M×N×K)  "));
  EXPECT_THAT(result_header(), testing::StartsWith("shape    "));
}

TEST(ResultTable, ALineSaysHowTheBestDefaultConfigFared) {
  Decision made = decision(1.25, 0.02, Verdict::faster);
  made.baseline = Candidate::parse("onednn.gemm@1:impl=gemm");
  made.best_default = BestDefault{made.baseline, 100, 1.25};
  EXPECT_THAT(result_line(made), Not(HasSubstr("untuned"))) << "it is the default";
  made.best_default = BestDefault{Candidate::parse("blis.gemm@1:threads=2"), 88, 1.1};
  EXPECT_THAT(result_line(made), HasSubstr("faster, 1.100× the best default"));
  made.winner = made.best_default->candidate;
  EXPECT_THAT(result_line(made), HasSubstr("faster, a default config"));
  EXPECT_NEAR(summarise(std::vector{made, decision(1, 0.02, Verdict::tie)}).mean_over_best_default, std::sqrt(1.1),
              1e-9);
}

TEST(ResultTable, ALineSaysWhatIsLessThanCertain) {
  Decision doubtful = decision(1.0, 0.02, Verdict::tie);
  doubtful.tied.resize(3);
  doubtful.noisy = doubtful.incomplete = true;
  EXPECT_THAT(result_line(doubtful), HasSubstr("tie of 3, noisy, incomplete"));
  EXPECT_THAT(result_line(doubtful), Not(HasSubstr("pause")));
  doubtful.pause_cut = true;
  EXPECT_THAT(result_line(doubtful), HasSubstr("noisy, incomplete, confirmed without the pause"));
  doubtful.incomplete = false;
  EXPECT_EQ(summarise(std::vector{doubtful}).num_noisy, 1u);
  doubtful.protocol.values = TimedValues::zeros;
  EXPECT_THAT(result_line(doubtful), EndsWith(", timed with zeros"));
}

}  // namespace
}  // namespace attune
