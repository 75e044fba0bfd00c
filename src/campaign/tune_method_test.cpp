// SPDX-License-Identifier: MIT
#include "campaign/tune_method.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/campaign_values.h"
#include "testing/environment.h"

namespace attune {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

template <typename Change>
TunerOptions method(Change&& change) {
  TuneOptions options;
  change(options);
  return tuner_options(options);
}
template <typename Change>
std::string refused(Change&& change) {
  return refusal([&] { method(change); });
}
template <typename Change>
std::string procedure(Change&& change) {
  return method(change).protocol.procedure;
}

TEST(TuneMethod, RefusesWhatMakesNoSense) {
  EXPECT_EQ(refused([](TuneOptions& options) { options.err_ratio = 0; }),
            "--errRatio must be above 0, because a candidate's errors must stay below it; got 0");
  EXPECT_EQ(refused([](TuneOptions& options) { options.budget = "soon"; }),
            "--budget expects a time such as 30s, 10m or 2h, got 'soon'");
  EXPECT_EQ(refused([](TuneOptions& options) { options.timeout = "0s"; }),
            "--timeout expects a time such as 30s, 10m or 2h, got '0s'");
  EXPECT_THAT(refused([](TuneOptions& options) { options.libtype = "fake,nothing"; }),
              AllOf(StartsWith("--libtype expects all or some of "), HasSubstr("fake"), EndsWith(", got 'nothing'")));
}

TEST(TuneMethod, ConstantsAreThoseOfTheKindOfDevice) {
  const DeviceKind kind{
      .name = "slow",
      .timing = Timing::graph,
      .contest = {.race = {.sample_share = 0.25}, .finals = {.margin = 0.002}, .confirm = {.delay_s = 7}},
      .load_deadline_s = 90,
      .run_deadline_s = 3,
      .compiles_beside_measuring = true};
  TuneOptions options;
  TunerOptions tuner = tuner_options(options);
  set_constants(tuner, options, kind);
  EXPECT_EQ(tuner.protocol.timing, Timing::graph);
  EXPECT_EQ(tuner.contest.race.sample_share, 0.25);
  EXPECT_EQ(tuner.contest.finals.margin, 0.002);
  EXPECT_EQ(tuner.contest.confirm.delay_s, 7);
  EXPECT_TRUE(tuner.compiles_beside_measuring);
  EXPECT_EQ(tuner.load_deadline_s, 90);
  EXPECT_EQ(tuner.run_deadline_s, 3);
  options.run_deadline_s = 5;
  set_constants(tuner, options, kind);
  EXPECT_EQ(tuner.load_deadline_s, 90);
  EXPECT_EQ(tuner.run_deadline_s, 5) << "the command line states it";
}

TEST(TuneMethod, TheProcedureNamesWhatDecisionsDependOn) {
  EXPECT_EQ(procedure([](TuneOptions&) {}), "race/6 auto/96");
  EXPECT_EQ(procedure([](TuneOptions& options) { options.search = "random", options.max_trials = 24; }),
            "race/6 random/24");
  EXPECT_EQ(procedure([](TuneOptions& options) { options.iters = 7; }), "race/6 auto/96") << "a default is no cap";
  EXPECT_EQ(procedure([](TuneOptions& options) {
              options.iters = 7;
              options.iters_given = options.no_split_k = true;
            }),
            "race/6 auto/96 pairs<=7 no-split-k");
  EXPECT_EQ(procedure([](TuneOptions& options) {
              options.search = "exhaustive";
              options.iters_given = true;
            }),
            "exhaustive/1 5+101");
}

TEST(TuneMethod, TheProcedureNamesTheRulesOfTheUser) {
  EXPECT_EQ(procedure([](TuneOptions& options) { options.rules = "attune"; }), "race/6 auto/96") << "the default";
  EXPECT_EQ(procedure([](TuneOptions& options) { options.where = {"fake.gemm: tile <= 32"}; }),
            "race/6 auto/96 where=fake.gemm:tile <= 32");
  for (const char* wrong : {"tile <= 32", "nothing.gemm: tile <= 32", "fake.gemm: tile <=", "fake.gemm:"})
    EXPECT_THROW(method([&](TuneOptions& options) { options.where = {wrong}; }), Error) << wrong;
  EXPECT_THROW(method([](TuneOptions& options) { options.rules = "tune_conv"; }), Error);
}

/// A decision without the kernel must not be reused where the user names it.
TEST(TuneMethod, TheProcedureNamesTheKernelsOfTheUser) {
  const TestEnvironment kernels("ATTUNE_TRITON_KERNELS", "f-1,g-2");
  EXPECT_EQ(procedure([](TuneOptions&) {}), "race/6 auto/96 kernel=f-1 kernel=g-2");
}

TEST(TuneMethod, TheExhaustiveSearchMeasuresAllCandidates) {
  const TunerOptions tuner = method([](TuneOptions& options) { options.search = "exhaustive"; });
  EXPECT_TRUE(tuner.exhaustive);
  EXPECT_EQ(tuner.strategy.name, "exhaustive");
  EXPECT_GE(tuner.strategy.max_trials, 1'000'000u);
}

TEST(TuneMethod, TheClassicSearchMeasuresAllCandidates) {
  const TunerOptions tuner = method([](TuneOptions& options) { options.search = "classic"; });
  EXPECT_FALSE(tuner.exhaustive) << "it has no rounds";
  EXPECT_EQ(tuner.strategy.name, "exhaustive");
  EXPECT_THROW(method([](TuneOptions& options) { options.classic = "v1"; }), Error);
}

TEST(TuneMethod, ConvertsUnits) {
  const TunerOptions tuner = method([](TuneOptions& options) {
    options.budget = "2h";
    options.timeout = "90s";
    options.min_gain_pct = 2;
    options.seed = 7;
    options.inputs = "warm";
  });
  EXPECT_EQ(tuner.budget_s, 7200);
  EXPECT_EQ(tuner.problem_timeout_s, 90);
  EXPECT_DOUBLE_EQ(tuner.protocol.min_gain, 0.02);
  EXPECT_DOUBLE_EQ(tuner.contest.min_gain, 0.02);
  EXPECT_EQ(tuner.protocol.seed, 7u);
  EXPECT_EQ(tuner.contest.seed, 7u);
  EXPECT_EQ(tuner.strategy.seed, 7u);
  EXPECT_EQ(tuner.protocol.cache, CachePolicy::warm);
}

std::string file_to_check(TuneOptions options) { return row_check_request(options)->file; }

TEST(RowCheckRequest, IsMadeByEachOfTwoFlagsAlone) {
  EXPECT_FALSE(row_check_request({.input = "in.csv", .output = "out.csv"}));
  EXPECT_TRUE(row_check_request({.compare_without_tuning = "r.yaml"})->verify_only);
  EXPECT_FALSE(row_check_request({.run_config = "t.csv"})->verify_only) << "rows are timed, too";
}

TEST(RowCheckRequest, TakesTheFlagsOwnFileElseTheOutputElseTheInput) {
  EXPECT_EQ(file_to_check({.input = "in.csv", .output = "out.csv", .run_config = "t.csv"}), "t.csv");
  EXPECT_EQ(file_to_check({.input = "in.csv", .output = "out.csv", .run_config = ""}), "out.csv");
  EXPECT_EQ(file_to_check({.input = "in.csv", .run_config = ""}), "in.csv");
  EXPECT_EQ(file_to_check({.size_file = "sizes.yaml", .output = "out.csv", .compare_without_tuning = "="}),
            "sizes.yaml");
  EXPECT_EQ(file_to_check({.size_file = "sizes.yaml", .compare_without_tuning = "r.yaml"}), "r.yaml");
  EXPECT_EQ(file_to_check({.output = "out.csv", .compare_without_tuning = "="}), "out.csv");
  EXPECT_THAT(refusal([] { file_to_check({.run_config = ""}); }), StartsWith("name the file to check"));
}

TEST(RowCheckRequest, HasOneNumberOfThreads) {
  EXPECT_EQ(row_check_request({.thread_limits = {3}, .run_config = "t.csv"})->devices.threads, 3);
  EXPECT_EQ(refusal([] {
              file_to_check({.thread_limits = {1, 2}, .run_config = "t.csv"});
            }),
            "a check takes one number of threads");
}

TEST(TuneMethod, LibrariesAreTrimmedAndAllIsNoLimit) {
  EXPECT_THAT(method([](TuneOptions&) {}).libraries, IsEmpty());
  EXPECT_THAT(method([](TuneOptions& options) { options.libtype = "fake, portable"; }).libraries,
              ElementsAre("fake", "portable"));
}

}  // namespace
}  // namespace attune
