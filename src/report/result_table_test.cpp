// SPDX-License-Identifier: MIT
#include "report/result_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace attune {
namespace {

using testing::HasSubstr;
using testing::Not;

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
  EXPECT_EQ(summary.num_shapes, 4u);
  EXPECT_EQ(summary.num_faster, 2u);
  EXPECT_EQ(summary.num_tied, 1u);
  EXPECT_NEAR(summary.mean, std::pow(1.331, 0.25), 1e-12);
  // Four equal deviations of ln(1.1): the deviation of their mean is half of it.
  EXPECT_NEAR(summary.high, summary.mean * std::sqrt(1.1), 1e-9);
  EXPECT_NEAR(summary.low, summary.mean / std::sqrt(1.1), 1e-9);
}

TEST(ResultTable, ALineNamesShapeWinnerTimesIntervalAndVerdict) {
  const std::string line = result_line(decision(1.25, 0.02, Verdict::faster));
  for (const char* part : {"1×32×48 bf16→fp32 +bias", "100.0 µs", "onednn impl=brgemm threads=2", "80.0 µs", "1.250×",
                           "[1.225, 1.275]", "faster"})
    EXPECT_THAT(line, HasSubstr(part));
  EXPECT_THAT(line, Not(HasSubstr("noisy")));
}

TEST(ResultTable, ALineSaysHowTheBestUntunedConfigFared) {
  Decision made = decision(1.25, 0.02, Verdict::faster);
  made.baseline = Candidate::parse("onednn.gemm@1:impl=gemm");
  made.best_untuned = BestUntuned{made.baseline, 100, 1.25};
  EXPECT_THAT(result_line(made), Not(HasSubstr("untuned"))) << "it is the default";
  made.best_untuned = BestUntuned{Candidate::parse("blis.gemm@1:threads=2"), 88, 1.1};
  EXPECT_THAT(result_line(made), HasSubstr("faster, 1.100× the best untuned config"));
  made.winner = made.best_untuned->candidate;
  EXPECT_THAT(result_line(made), HasSubstr("faster, an untuned config"));
  EXPECT_NEAR(summarise(std::vector{made, decision(1, 0.02, Verdict::tie)}).mean_over_untuned, std::sqrt(1.1), 1e-9);
}

TEST(ResultTable, ALineSaysWhatIsLessThanCertain) {
  Decision doubtful = decision(1.0, 0.02, Verdict::tie);
  doubtful.tied.resize(3);
  doubtful.noisy = doubtful.incomplete = true;
  EXPECT_THAT(result_line(doubtful), HasSubstr("tie of 3, noisy, incomplete"));
  EXPECT_THAT(result_line(doubtful), Not(HasSubstr("pause")));
  doubtful.pause_cut = true;
  EXPECT_THAT(result_line(doubtful), HasSubstr("noisy, incomplete, confirmed without the pause"));
  EXPECT_EQ(summarise(std::vector{doubtful}).num_noisy, 1u);
}

}  // namespace
}  // namespace attune
