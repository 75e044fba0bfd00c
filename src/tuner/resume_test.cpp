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

/// Interrupts the run at one of its calls, counted from 0. Ticks are calls, too: they come between and inside steps.
class InterruptingObserver final : public TuneObserver {
 public:
  InterruptingObserver(size_t at, std::atomic<bool>& interrupted) : at_(at), interrupted_(interrupted) {}
  void progress(const Problem&, Phase phase, size_t) override {
    phase_ = phase;
    count();
  }
  void tick() override { count(); }
  void finished(const TuneResult&) override {}
  bool has_interrupted() const { return num_calls_ > at_; }
  Phase phase() const { return phase_; }  ///< The last one told.

 private:
  void count() {
    if (num_calls_++ == at_) interrupted_ = true;
  }

  const size_t at_;
  std::atomic<bool>& interrupted_;
  size_t num_calls_ = 0;
  Phase phase_ = Phase::race;
};

class Resume : public testing::Test {
 protected:
  Resume() { options_.strategy.max_trials = 6; }

  TuneResult run(Journal& journal, TuneObserver& observer, const std::atomic<bool>& interrupted) {
    const auto problem = Problem::parse("gemm_a16w16 m=16 n=32 k=16 dtype=fp32");
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
  constexpr size_t kStride = 2;
  size_t num_points = 0;
  for (bool has_interrupted = true; has_interrupted; ++num_points) {
    const auto journal = open_memory_journal();
    std::atomic<bool> interrupted = false;
    InterruptingObserver observer(num_points * kStride, interrupted);
    const TuneResult first = run(*journal, observer, interrupted);
    has_interrupted = observer.has_interrupted();
    if (has_interrupted) interrupted_in.insert(observer.phase());
    const TuneResult second = run(*journal);
    ASSERT_TRUE(second.decision) << num_points << ": " << second.reason;
    EXPECT_EQ(second.decision->winner, expected.winner) << num_points;
    EXPECT_EQ(second.decision->baseline, expected.baseline) << num_points;
    EXPECT_EQ(second.decision->verdict, expected.verdict) << num_points;
    EXPECT_FALSE(second.decision->incomplete) << num_points;
    EXPECT_EQ(second.ending, first.decision ? Ending::reused : Ending::decided) << num_points;
  }
  EXPECT_THAT(interrupted_in, testing::IsSupersetOf({Phase::race, Phase::finals}));
  EXPECT_GE(interrupted_in.size(), 4u) << "and in what follows them";
  EXPECT_GE(num_points, 50u);
}

}  // namespace
}  // namespace attune
