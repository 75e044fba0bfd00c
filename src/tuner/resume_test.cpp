// SPDX-License-Identifier: MIT
// A run that ends at any point and is resumed makes the same Decision as one that was not disturbed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "device/fake/fake_device.h"
#include "measure/local_executor.h"
#include "ops/op.h"
#include "solver/registry.h"
#include "testing/tuner_doubles.h"
#include "tuner/tuner.h"

namespace attune {
namespace {

/// Interrupts the run at one of its calls, counted from 0.
class InterruptingObserver final : public TuneObserver {
 public:
  InterruptingObserver(size_t at, std::atomic<bool>& interrupted) : at_(at), interrupted_(interrupted) {}
  void progress(const Problem&, Phase phase, size_t) override {
    if (num_calls_++ != at_) return;
    interrupted_ = true;
    phase_ = phase;
  }
  void finished(const TuneResult&) override {}
  std::optional<Phase> phase() const { return phase_; }  ///< At the interrupt.

 private:
  const size_t at_;
  std::atomic<bool>& interrupted_;
  size_t num_calls_ = 0;
  std::optional<Phase> phase_;
};

class Resume : public testing::Test {
 protected:
  Resume() { options_.strategy.max_trials = 24; }

  TuneResult run(Journal& journal, TuneObserver& observer, const std::atomic<bool>& interrupted) {
    const auto problem = Problem::parse("gemm_a16w16 m=64 n=64 k=64 dtype=fp32");
    FakeDevice device;
    LocalExecutor executor(device, registry());
    TestClock clock;
    return Tuner(executor, journal, options_, clock)
        .run({{.problem = op_of(problem).normalise(problem, {})}}, observer, interrupted)
        .front();
  }
  TuneResult run(Journal& journal) {
    SilentObserver silent;
    return run(journal, silent, false);
  }

  TunerOptions options_;
};

TEST_F(Resume, AtAnyPointOfEveryPhaseGivesTheSameDecision) {
  const Decision expected = *run(*open_memory_journal()).decision;
  std::set<Phase> interrupted_in;
  size_t at = 0;
  for (bool was_interrupted = true; was_interrupted; ++at) {
    const auto journal = open_memory_journal();
    std::atomic<bool> interrupted = false;
    InterruptingObserver observer(at, interrupted);
    const TuneResult first = run(*journal, observer, interrupted);
    was_interrupted = observer.phase().has_value();
    if (was_interrupted) interrupted_in.insert(*observer.phase());
    const TuneResult second = run(*journal);
    ASSERT_TRUE(second.decision) << at << ": " << second.reason;
    EXPECT_EQ(second.decision->winner, expected.winner) << at;
    EXPECT_EQ(second.decision->baseline, expected.baseline) << at;
    EXPECT_EQ(second.decision->verdict, expected.verdict) << at;
    EXPECT_FALSE(second.decision->incomplete) << at;
    EXPECT_EQ(second.ending, first.decision ? Ending::reused : Ending::decided) << at;
  }
  EXPECT_THAT(interrupted_in, testing::ElementsAre(Phase::race, Phase::finals, Phase::confirm, Phase::publish));
  EXPECT_GT(at, 10u);
}

}  // namespace
}  // namespace attune
