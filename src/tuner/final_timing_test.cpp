// SPDX-License-Identifier: MIT
// How the candidates of one contest are timed on a device whose streams capture, where some plans cannot be captured.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/fake/fake_device.h"
#include "measure/local_executor.h"
#include "ops/op.h"
#include "solver/registry.h"
#include "testing/planted_gemm.h"
#include "testing/tuner_doubles.h"
#include "tuner/tuner.h"

namespace attune {
namespace {

/// Offers candidates with these times; all of them can be captured, or none.
class TimedSolver final : public Solver {
 public:
  TimedSolver(std::string id, std::vector<int> us, bool capturable)
      : id_(std::move(id)), us_(std::move(us)), capturable_(capturable) {}
  std::string_view id() const override { return id_; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "takes given times"; }
  Support supports(const Problem&, const DeviceInfo&) const override { return {}; }
  std::unique_ptr<Backend> open(Device& device) const override {
    return std::make_unique<TimedBackend>(*this, dynamic_cast<FakeDevice&>(device));
  }

 private:
  class TimedBackend final : public Backend {
   public:
    TimedBackend(const TimedSolver& solver, FakeDevice& device) : solver_(solver), device_(device) {}
    Versions versions() const override { return {{solver_.id_, "1"}}; }
    SearchSpace space(const Problem&) override {
      std::vector<Config> configs;
      for (const int us : solver_.us_) configs.push_back(Config({{"us", int64_t{us}}}));
      return SearchSpace::listed(std::move(configs));
    }
    Config default_config(const Problem& problem) override { return space(problem).at(0); }
    std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext&) override {
      return std::make_unique<EnqueuedGemm>(GemmShape::of(problem), static_cast<double>(config.integer("us")),
                                            solver_.capturable_, device_);
    }

   private:
    const TimedSolver& solver_;
    FakeDevice& device_;
  };
  std::string id_;
  std::vector<int> us_;
  bool capturable_;
};

/// An executor in this process with ten launches in a batch. It notes the number of launches of each turn.
class TurnsExecutor final : public ForwardingExecutor {
 public:
  using ForwardingExecutor::ForwardingExecutor;
  void begin(Request request) override {
    const auto* const sample = std::get_if<request::Sample>(&request);
    for (const Turn& turn : sample != nullptr && !sample->recheck ? sample->schedule : std::vector<Turn>())
      launches.push_back(turn.launches);
    ForwardingExecutor::begin(std::move(request));
  }
  std::optional<Answer> take() override {
    auto answer = ForwardingExecutor::take();
    if (auto* const admitted = answer ? std::get_if<AdmitAnswer>(&*answer) : nullptr) admitted->batch = 10;
    return answer;
  }

  std::vector<uint32_t> launches;  ///< Of each turn, in order.
};

class FinalTiming : public testing::Test {
 protected:
  /// Tunes a problem with a default of 90 µs, a candidate of 70 µs and another default config of 72 µs.
  TuneResult tune(bool is_default_capturable, double sample_share = 1) {
    Registry solvers;
    solvers.add(std::make_unique<TimedSolver>("onednn.gemm", std::vector<int>{90, 70}, true));
    solvers.add(std::make_unique<TimedSolver>("openblas.gemm", std::vector<int>{72}, is_default_capturable));
    LocalExecutor inner(device_, solvers);
    TurnsExecutor executor(inner);
    TunerOptions options;
    options.protocol.timing = Timing::graph;
    options.contest.race.sample_share = sample_share;
    options.warmup = 0;
    options.contest.confirm.delay_s = 0;
    const Problem problem = Problem::parse("gemm_a16w16 m=5 n=33 k=8 dtype=fp32");
    TuneResult result = Tuner(executor, *journal_, options, clock_)
                            .run({{.problem = op_of(problem).normalise(problem, {})}}, observer_, interrupted_)
                            .front();
    launches_ = std::move(executor.launches);
    return result;
  }
  /// The records that have a measurement.
  std::vector<Record> measured() {
    std::vector<Record> all;
    journal_->scan({}, [&](const Entry& entry, const Stamp&) {
      const auto* record = std::get_if<Record>(&entry);
      if (record != nullptr && record->outcome.measurement) all.push_back(*record);
    });
    return all;
  }

  FakeDevice device_;
  std::unique_ptr<Journal> journal_ = open_memory_journal();
  TestClock clock_;
  SilentObserver observer_;
  std::atomic<bool> interrupted_ = false;
  std::vector<uint32_t> launches_;  ///< Of each turn.
};

TEST_F(FinalTiming, IsByGraphsIfAllFinalistsCanBeCaptured) {
  const TuneResult result = tune(true);
  ASSERT_TRUE(result.decision) << result.reason;
  EXPECT_EQ(result.decision->timing, Timing::graph);
  EXPECT_NEAR(result.decision->baseline_us, 90, 1e-5);
  EXPECT_NEAR(result.decision->comparison.us, 70, 1e-5);
  for (const Record& record : measured()) EXPECT_EQ(record.outcome.measurement->timing, Timing::graph);
}

TEST_F(FinalTiming, IsByEventsForAllIfOneFinalistCannotBeCaptured) {
  const TuneResult result = tune(false);
  ASSERT_TRUE(result.decision) << result.reason;
  EXPECT_EQ(result.decision->timing, Timing::events);
  EXPECT_NEAR(result.decision->baseline_us, 90 + FakeDevice::kLaunchUs, 1e-5);
  EXPECT_NEAR(result.decision->comparison.us, 70 + FakeDevice::kLaunchUs, 1e-5);
  int num_graphs = 0;
  for (const Record& record : measured()) {
    const Measurement& measurement = *record.outcome.measurement;
    const bool is_graph = record.stage == Stage::screen && record.candidate.solver == "onednn.gemm";
    EXPECT_EQ(measurement.timing, is_graph ? Timing::graph : Timing::events) << record.candidate.name();
    const auto [min, max] = std::ranges::minmax_element(measurement.samples, {}, &Sample::us);
    EXPECT_EQ(min->us, max->us) << "one way of timing in one measurement: " << record.candidate.name();
    num_graphs += is_graph ? 1 : 0;
  }
  EXPECT_EQ(num_graphs, 2) << "the race times each in its own best way";
}

TEST_F(FinalTiming, ShorterSamplesOfTheRaceAreNoEvidenceBesideThoseOfTheFinals) {
  const TuneResult result = tune(true, 0.25);
  ASSERT_TRUE(result.decision) << result.reason;
  const auto first_of_finals = std::ranges::find(launches_, 10u);
  EXPECT_TRUE(std::ranges::all_of(launches_.begin(), first_of_finals, [](uint32_t one) { return one == 3; }));
  EXPECT_TRUE(std::ranges::all_of(first_of_finals, launches_.end(), [](uint32_t one) { return one == 10; }));
  size_t num_finalists = 0;
  const auto rounds_of_race = static_cast<uint32_t>(first_of_finals - launches_.begin()) / 3;
  for (const Record& record : measured()) {
    if (record.stage != Stage::final) continue;
    ++num_finalists;
    for (const Sample& sample : record.outcome.measurement->samples)
      EXPECT_GE(sample.round, rounds_of_race) << record.candidate.name();
  }
  EXPECT_EQ(num_finalists, 3u);
}

}  // namespace
}  // namespace attune
