// SPDX-License-Identifier: MIT
// Composite solvers: their parts are tuned first, and whole candidates meet in one contest.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "device/fake/fake_device.h"
#include "measure/local_executor.h"
#include "ops/op.h"
#include "solver/registry.h"
#include "testing/split_rows_solver.h"
#include "testing/tuner_doubles.h"
#include "tuner/tuner.h"

namespace attune {

void register_fake_solver(Registry& registry);

namespace {

constexpr const char* kFirst = "fake.gemm@1:split_k=1;tile_m=64;tile_n=64";

class Composite : public testing::Test {
 protected:
  Composite() {
    register_fake_solver(solvers_);
    solvers_.add(std::make_unique<SplitRowsSolver>(Candidate::parse(kFirst)));
    options_.strategy.max_trials = 16;
  }
  WorkItem item(int64_t m) const {
    const auto problem = Problem::parse(fmt::format("gemm_a16w16 m={} n=16 k=16 dtype=fp32", m));
    return {.problem = op_of(problem).normalise(problem, {})};
  }
  std::vector<TuneResult> run(const std::vector<WorkItem>& items) {
    LocalExecutor executor(device_, solvers_);
    TestClock clock;
    return Tuner(executor, *journal_, options_, clock).run(items, observer_, false);
  }
  /// The composite's candidates in the records of a problem.
  std::set<std::string> composites(const Problem& problem) const {
    std::set<std::string> names;
    journal_->scan({.problem = problem}, [&](const Entry& entry, const Stamp&) {
      const auto* record = std::get_if<Record>(&entry);
      if (record != nullptr && record->outcome.ok() && record->candidate.solver == "split_rows.gemm")
        names.insert(record->candidate.name());
    });
    return names;
  }

  Registry solvers_;
  FakeDevice device_;
  std::unique_ptr<Journal> journal_ = open_memory_journal();
  TunerOptions options_;
  SilentObserver observer_;
};

TEST_F(Composite, PartsAreTunedFirstAndTheirShortListsAreValues) {
  const WorkItem whole = item(16);
  const TuneResult result = run({whole}).front();
  ASSERT_EQ(result.ending, Ending::decided) << result.reason;
  const Problem half = op_of(whole.problem).normalise(whole.problem.with("m", "8"), {});
  size_t num_entries = 0;
  journal_->scan({.problem = half}, [&](const Entry&, const Stamp&) { ++num_entries; });
  EXPECT_GT(num_entries, 0u) << "the part was measured";
  EXPECT_FALSE(journal_->decision(half, device_.info().fingerprint(), result.versions, options_.protocol));
  const auto tried = composites(whole.problem);
  std::set<std::string> choices;
  for (const std::string& name : tried) choices.insert(Candidate::parse(name).config.text("upper"));
  EXPECT_GT(choices.size(), 1u) << "more than what the space names by itself";
  for (const std::string& choice : choices) EXPECT_FALSE(Candidate::parse_nested(choice).solver.empty());
}

TEST_F(Composite, WithoutASearchNoPartIsTuned) {
  WorkItem whole = item(16);
  const Problem half = op_of(whole.problem).normalise(whole.problem.with("m", "8"), {});
  const auto num_entries = [&] {
    size_t count = 0;
    journal_->scan({.problem = half}, [&](const Entry&, const Stamp&) { ++count; });
    return count;
  };
  whole.solvers = {"fake.gemm"};
  EXPECT_TRUE(run({whole}).front().decision);
  EXPECT_EQ(num_entries(), 0u) << "the composite does not take part";
  whole.solvers.clear();
  whole.defaults_only = true;
  EXPECT_TRUE(run({whole}).front().decision);
  EXPECT_EQ(composites(whole.problem).size(), 1u);
  whole.defaults_only = false;
  const std::string given = fmt::format("split_rows.gemm@1:lower={0};order=up;upper={0}",
                                        Candidate::parse("fake.gemm@1:split_k=1;tile_m=16;tile_n=16").nested_name());
  whole.candidates = {Candidate::parse(given)};
  const TuneResult compared = run({whole}).front();
  EXPECT_TRUE(compared.decision);
  for (const auto& [candidate, outcome] : compared.failures)
    ADD_FAILURE() << candidate.name() << ": " << outcome.detail;
  EXPECT_TRUE(composites(whole.problem).contains(given)) << "its own parts are choices";
  EXPECT_EQ(num_entries(), 0u);
}

TEST_F(Composite, APartOfTwoProblemsIsTunedOnce) {
  const auto results = run({item(16), item(16)});
  for (const TuneResult& result : results) EXPECT_TRUE(result.decision) << result.reason;
  const Problem half = op_of(item(16).problem).normalise(item(16).problem.with("m", "8"), {});
  std::multiset<std::string> verified;
  journal_->scan({.problem = half}, [&](const Entry& entry, const Stamp&) {
    if (const auto* record = std::get_if<Record>(&entry); record != nullptr && record->stage == Stage::verify)
      verified.insert(record->candidate.name());
  });
  for (const std::string& name : verified) EXPECT_EQ(verified.count(name), 1u) << name;
}

TEST_F(Composite, AnInterruptWhileAPartIsTunedEndsTheProblem) {
  class StopsAtOnce final : public TuneObserver {
   public:
    explicit StopsAtOnce(std::atomic<bool>& stop) : stop_(stop) {}
    void progress(const Problem& problem, Phase, size_t num_alive) override {
      if (problem.integer("m") == 8 && num_alive > 0) stop_ = true;
    }
    void finished(const TuneResult&) override {}

   private:
    std::atomic<bool>& stop_;
  };
  std::atomic<bool> interrupted = false;
  StopsAtOnce observer(interrupted);
  LocalExecutor executor(device_, solvers_);
  TestClock clock;
  const auto cut = Tuner(executor, *journal_, options_, clock).run({item(16)}, observer, interrupted).front();
  EXPECT_EQ(cut.ending, Ending::cut);
  EXPECT_EQ(cut.reason, "interrupted before a decision");
  EXPECT_EQ(run({item(16)}).front().ending, Ending::decided) << "and a later run goes on";
}

}  // namespace
}  // namespace attune
