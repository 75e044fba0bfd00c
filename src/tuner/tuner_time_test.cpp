// SPDX-License-Identifier: MIT
// Where the time of a run goes, on one clock for the tuner and the fake device.
#include <gtest/gtest.h>

#include "measure/local_executor.h"
#include "testing/local_executor_fixture.h"
#include "testing/tuner_doubles.h"
#include "tuner/tuner.h"

namespace attune {
namespace {

/// The virtual time of a device, plus the time slept.
class DeviceClock final : public Clock {
 public:
  explicit DeviceClock(FakeDevice& device) : device_(device) {}
  double now_s() override { return device_.now_us() * 1e-6 + slept_s; }
  void sleep_s(double seconds) override { slept_s += seconds; }
  double slept_s = 0;

 private:
  FakeDevice& device_;
};

class TimeObserver final : public TuneObserver {
 public:
  void progress(const Problem&, Phase, size_t) override {}
  void finished(const TuneResult&) override {}
  void device_ended(const TimeUse& time) override {
    all += time;
    ++num_devices;
  }
  TimeUse all;
  int num_devices = 0;
};

TEST(TunerTime, EachSecondOfARunIsSomethingsAndEachBusyOneAProblems) {
  FakeDevice device;
  DeviceClock clock(device);
  Registry registry;
  std::vector<void*> weights;
  registry.add(std::make_unique<PlantedSolver>("planted.gemm", nullptr, nullptr, &weights));
  LocalExecutor executor(device, registry);
  device.time().set_clock([&] { return clock.now_s(); });
  TunerOptions options;
  options.before_measuring = [&](const Tick&) { clock.sleep_s(2); };
  const auto journal = open_memory_journal();
  std::vector<WorkItem> items;
  for (const char* text : {"gemm_a16w16 m=1 n=4 k=8 dtype=fp32", "gemm_a16w16 m=2 n=4 k=8 dtype=fp32"})
    items.push_back({.problem = op_of(Problem::parse(text)).normalise(Problem::parse(text), {}),
                     .candidates = {Candidate::parse("planted.gemm@1+7:claims=1;fault=none;us=5"),
                                    Candidate::parse("planted.gemm@1+7:enqueued=0;fault=none;us=5"),
                                    Candidate::parse("planted.gemm@1+7:enqueued=1;fault=none;us=5")}});
  TimeObserver observer;
  const double began_s = clock.now_s();
  const auto results = Tuner(executor, *journal, options, clock).run(items, observer, false);
  EXPECT_EQ(observer.num_devices, 1);
  EXPECT_NEAR(observer.all.wall_s(), clock.now_s() - began_s, 1e-9);
  EXPECT_NEAR(observer.all[Activity::pause].wall_s, clock.slept_s, 1e-9) << "for quiet and to confirm";
  EXPECT_GT(clock.slept_s, 2);
  TimeUse of_problems;
  for (const TuneResult& result : results) {
    EXPECT_EQ(result.ending, Ending::decided) << result.reason;
    EXPECT_GT(result.time[Activity::sample].busy_s, 0);
    of_problems += result.time;
  }
  EXPECT_NEAR(of_problems.busy_s(), observer.all.busy_s(), 1e-12);
}

}  // namespace
}  // namespace attune
