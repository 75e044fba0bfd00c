// SPDX-License-Identifier: MIT
#include "fleet/golden/golden_update.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "device/device_kind.h"
#include "fleet/agent/fleet_environment.h"
#include "fleet/setup/import_configurations.h"
#include "fleet/setup/retune.h"
#include "store/fleet/fleet_connection.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Problem kConvA = Problem::parse("conv direction=fwd n=2 c=8 h=9 w=8 k=8 y=3 x=3 pad_h=1 pad_w=1 dtype=fp32");
const Problem kConvB = Problem::parse("conv direction=fwd n=4 c=8 h=9 w=8 k=8 y=3 x=3 pad_h=1 pad_w=1 dtype=fp32");

/// A contest's outcome on the device of a fingerprint.
Decision decision_of(const Problem& problem, double us, const std::string& fingerprint) {
  Decision decision;
  decision.problem = problem;
  decision.winner = Candidate::parse("fake.conv@1:x=1");
  decision.baseline = Candidate::parse("fake.conv@1:x=0");
  decision.versions = {{"fake.conv", "1"}};
  decision.verdict = Verdict::faster;
  decision.comparison.us = us;
  decision.comparison.ratio = 2;
  decision.baseline_us = 2 * us;
  decision.finalists = {{.candidate = decision.winner,
                         .comparison = decision.comparison,
                         .errors = {},
                         .binaries = {},
                         .confirmed = true,
                         .metadata = {}}};
  decision.fingerprint = fingerprint;
  decision.protocol.timing = device_kind("fake").timing;
  return decision;
}

class GoldenSetsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    store_ = open_fleet_store(location());
    golden_ = open_golden_sets(location());
    store_->add_configurations({configuration(kConvA), configuration(kConvB)});
    store_->set_solvers({{"fake.conv", "1", "conv", true, "fake"}});
  }
  std::string location() const { return "sqlite:" + (folder_.path() / "fleet.db").string(); }
  static FleetConfiguration configuration(const Problem& problem) {
    return {.id = configuration_id(problem),
            .op = "conv",
            .key = problem.key(),
            .source = "test",
            .added_at = {},
            .tags = {"t"},
            .is_recurrent = problem == kConvA};
  }
  int64_t begin(const std::string& reason, const std::string& version = "1", const std::string& model = "one") {
    const DeviceInfo device{.id = "fake:0", .kind = "fake", .gfx = "fake", .num_units = 4, .model = model};
    return store_->begin_session(fleet_environment(device, {}, {{"fake.conv", version}}), reason);
  }
  /// Runs the contests of a session with these times; 0: none.
  void decide(int64_t session, double us_a, double us_b, bool is_complete = true) {
    store_->load_jobs({.session = session,
                       .tag = "t",
                       .steps = {FleetStep::find_compile, FleetStep::find_eval},
                       .only_applicable = false,
                       .reason = "r",
                       .solvers = {}});
    const FleetEnvironment environment = store_->session(session).environment;
    for (const FleetStep step : {FleetStep::find_compile, FleetStep::find_eval}) {
      for (const ClaimedJob& job : store_->queue().claim({.session = session, .steps = {step}, .agent = "test"}, 10)) {
        JobOutcome outcome;
        const bool is_a = job.configuration == configuration_id(kConvA);
        const double us = is_a ? us_a : us_b;
        if (us == 0) continue;
        if (step == FleetStep::find_eval) {
          outcome.decision = decision_of(is_a ? kConvA : kConvB, us, environment.fingerprint);
          outcome.decision->versions = environment.versions;
          outcome.decision->incomplete = !is_complete;
          outcome.kernels = {{"k.o", "-O3", "bytes"}};
        }
        store_->queue().commit(job, outcome);
      }
    }
  }
  GoldenUpdate update(int64_t version, int64_t session, int64_t base = 0, bool is_forced = false) {
    return update_golden(*store_, *golden_,
                         {.version = version, .base = base, .session = session, .tag = {}, .is_forced = is_forced});
  }
  std::map<std::string, double> times_of(int64_t version) {
    std::map<std::string, double> times;
    golden_->visit(version, "",
                   [&](const GoldenEntry& one) { times.emplace(one.decision.problem.text("n"), one.us()); });
    return times;
  }

  TestFolder folder_;
  std::unique_ptr<FleetStore> store_;
  std::unique_ptr<GoldenSets> golden_;
};

TEST_F(GoldenSetsTest, ASessionsDecisionsAreCopiedWithTheirKernels) {
  const int64_t session = begin("first");
  decide(session, 10, 0);
  const GoldenUpdate made = update(1, session);
  EXPECT_EQ(made.num_added, 1u);
  ASSERT_THAT(made.lacking, SizeIs(1));
  EXPECT_EQ(made.lacking[0].first, kConvB.key());
  EXPECT_EQ(update(1, session).num_same, 1u) << "repeated, it changes nothing";
  std::vector<GoldenEntry> entries;
  golden_->visit(1, "fake/4", [&](const GoldenEntry& one) { entries.push_back(one); });
  ASSERT_THAT(entries, SizeIs(1));
  EXPECT_EQ(entries[0].session, session);
  const auto kernels = golden_->kernels(1, entries[0]);
  ASSERT_THAT(kernels, SizeIs(1));
  EXPECT_EQ(kernels[0].name + kernels[0].arguments + kernels[0].bytes, "k.o-O3bytes");
}

TEST_F(GoldenSetsTest, ADamagedEntryIsSaidOfItsSet) {
  const int64_t session = begin("first");
  decide(session, 10, 0);
  update(3, session);
  FleetConnection connection(store_address(location()), 1000);
  for (const char* payload : {"{", "[1]"}) {
    connection.guard([&] { connection.session() << std::string("UPDATE golden SET payload = '") + payload + "'"; });
    try {
      times_of(3);
      FAIL() << "it was not noticed";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("an entry of golden set 3 is damaged"));
      EXPECT_THAT(error.what(), ::testing::Not(HasSubstr("journal")));
    }
  }
}

TEST_F(GoldenSetsTest, ASlowerResultNeedsForce) {
  const int64_t first = begin("first"), second = begin("second");
  decide(first, 10, 10);
  decide(second, 10.4, 12);
  update(1, first);
  const GoldenUpdate made = update(1, second);
  EXPECT_EQ(made.num_replaced, 1u) << "4 % are noise";
  ASSERT_THAT(made.refused, SizeIs(1));
  EXPECT_EQ(made.refused[0].first, kConvB.key());
  EXPECT_THAT(made.refused[0].second, HasSubstr("slower: fake.conv@1:x=1 10 µs → fake.conv@1:x=1 12 µs, 0.833×"));
  EXPECT_EQ(times_of(1)["4"], 10);
  EXPECT_THAT(update(1, second, 0, true).accepted, SizeIs(1));
  EXPECT_EQ(times_of(1)["4"], 12);
}

TEST_F(GoldenSetsTest, UnverifiedAndForeignResultsNeedForce) {
  const int64_t first = begin("first"), other = begin("other", "1", "two"), cut = begin("cut");
  decide(first, 10, 10);
  decide(other, 5, 5);
  decide(cut, 5, 5, false);
  update(1, first);
  EXPECT_THAT(update(1, other).refused.at(0).second, HasSubstr("foreign: another device or driver"));
  EXPECT_THAT(update(1, cut).refused.at(0).second, HasSubstr("unverified: its contest was not completed"));
  EXPECT_EQ(times_of(1)["2"], 10);
  Decision unconfirmed = decision_of(kConvA, 5, "f");
  unconfirmed.finalists[0].confirmed = false;
  EXPECT_THAT(golden_objection({.device = {},
                                .configuration = {},
                                .fingerprint = "f",
                                .session = 1,
                                .added_at = {},
                                .decision = unconfirmed},
                               nullptr)
                  .value_or(""),
              HasSubstr("not confirmed"));
}

TEST_F(GoldenSetsTest, AVersionBeginsWithTheEntriesOfItsBase) {
  const int64_t first = begin("first"), second = begin("second");
  decide(first, 10, 10);
  decide(second, 5, 0);
  update(1, first);
  const GoldenUpdate made = update(2, second, 1);
  EXPECT_EQ(made.num_copied, 2u);
  EXPECT_EQ(made.num_replaced, 1u);
  EXPECT_EQ(times_of(2), (std::map<std::string, double>{{"2", 5}, {"4", 10}}));
  EXPECT_EQ(times_of(1), (std::map<std::string, double>{{"2", 10}, {"4", 10}}));
  EXPECT_EQ(changes_of_golden(*golden_, 1, 2, "").summary(), "1 faster, 1 the same");
  EXPECT_EQ(changes_of_session(*store_, *golden_, 1, second).summary(), "1 missing, 1 faster, 0 the same");
  EXPECT_THROW(update(3, second, 7), Error);
  EXPECT_THROW(golden_device(*golden_, 1, "other/4"), Error);
  EXPECT_EQ(golden_device(*golden_, 1, ""), "fake/4");
}

TEST_F(GoldenSetsTest, ADecisionOfAnotherMeasuringProtocolIsVoid) {
  const FleetEnvironment environment = store_->session(begin("first")).environment;
  Decision decision = decision_of(kConvA, 5, environment.fingerprint);
  decision.protocol.procedure = "race/6 local/12";
  EXPECT_EQ(why_void(decision, environment), "");
  Decision older = decision;
  older.protocol.procedure = "race/5 auto/96";
  EXPECT_THAT(why_void(older, environment), HasSubstr("the measuring protocol was 'race/5 "));
  older = decision;
  older.protocol.checks = 1;
  EXPECT_THAT(why_void(older, environment), HasSubstr("the measuring protocol was 'race/6 "));
}

TEST_F(GoldenSetsTest, StaleConfigurationsAreTunedAgain) {
  const int64_t first = begin("first");
  decide(first, 10, 10);
  EXPECT_THAT(load_retune_jobs(*store_, first, {.only_stale = true}).configurations, IsEmpty());
  store_->set_solvers({{"fake.conv", "2", "conv", true, "fake"}});
  const int64_t second = begin("second", "2");
  const Retune stale = load_retune_jobs(*store_, second, {.only_stale = true});
  EXPECT_EQ(stale.tag, "retune-2");
  EXPECT_EQ(stale.num_jobs, 6u) << "a compile job, a search and a contest each";
  ASSERT_THAT(stale.configurations, SizeIs(2));
  EXPECT_EQ(stale.configurations[0].reason, "fake.conv was 1 and is 2");
  EXPECT_EQ(load_retune_jobs(*store_, second, {.only_stale = true}).num_jobs, 0u);
  decide(second, 9, 9);
  EXPECT_THAT(load_retune_jobs(*store_, second, {.only_stale = true}).configurations, IsEmpty());
}

TEST_F(GoldenSetsTest, RecurrentConfigurationsCanBeTunedAlone) {
  const Retune recurrent = load_retune_jobs(*store_, begin("first"), {.only_recurrent = true});
  ASSERT_THAT(recurrent.configurations, SizeIs(1));
  EXPECT_EQ(recurrent.configurations[0].configuration.key, kConvA.key());
}

}  // namespace
}  // namespace attune
