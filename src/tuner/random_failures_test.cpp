// SPDX-License-Identifier: MIT
// Problems on a device that fails at random steps: no memory, dead workers, candidates that are wrong later. No check
// of a contest or of the tuner may fire, and every problem ends.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/random.h"
#include "device/fake/fake_device.h"
#include "measure/local_executor.h"
#include "ops/op.h"
#include "solver/registry.h"
#include "testing/planted_gemm.h"
#include "testing/tuner_doubles.h"
#include "tuner/tuner.h"

namespace attune {
namespace {

/// Some configs that differ in their time; the first is the default.
class TimedSolver final : public Solver {
 public:
  TimedSolver(std::string id, std::vector<int> times) : id_(std::move(id)), times_(std::move(times)) {}
  std::string_view id() const override { return id_; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "configs by time"; }
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
      for (const int us : solver_.times_) configs.push_back(Config::parse(fmt::format("us={}", us)));
      return SearchSpace::listed(configs);
    }
    Config default_config(const Problem&) override {
      return Config::parse(fmt::format("us={}", solver_.times_.front()));
    }
    std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext&) override {
      const auto us = static_cast<double>(config.integer("us"));
      return std::make_unique<PlantedGemm>(GemmShape::of(problem), Fault::none, [this, us] { device_.advance_us(us); });
    }

   private:
    const TimedSolver& solver_;
    FakeDevice& device_;
  };
  std::string id_;
  std::vector<int> times_;
};

/// Answers some requests as a device does that has no memory, or whose worker died.
class RandomlyFailingExecutor final : public ForwardingExecutor {
 public:
  RandomlyFailingExecutor(Executor& inner, uint64_t seed) : ForwardingExecutor(inner), random_(seed) {
    for (double* share : {&admission_, &sample_, &recheck_, &death_}) *share = pick({0, 0.02, 0.1, 0.5});
  }
  int descriptor() const override { return -1; }
  void begin(Request request) override {
    own_ = answer_to(request);
    if (!own_) ForwardingExecutor::begin(std::move(request));
  }
  std::optional<Answer> take() override {
    if (own_) return std::exchange(own_, std::nullopt);
    auto answer = ForwardingExecutor::take();
    if (answer) set_epoch(*answer);
    return answer;
  }
  void drop(Slot slot) override {
    if (!never_admitted_.erase(slot)) ForwardingExecutor::drop(slot);
  }

 private:
  double pick(std::vector<double> shares) { return shares[random_.below(shares.size())]; }
  bool happens(double share) { return random_.uniform() < share; }
  Outcome failure() {
    constexpr Status kStatuses[] = {Status::out_of_memory, Status::launch_failed, Status::crashed, Status::device_lost,
                                    Status::wrong_result};
    return {kStatuses[random_.below(std::size(kStatuses))], "planted", {}};
  }
  void set_epoch(Answer& answer) const {
    if (auto* sampled = std::get_if<SampleAnswer>(&answer)) sampled->epoch += num_deaths_;
    if (auto* recycled = std::get_if<RecycleAnswer>(&answer)) recycled->epoch += num_deaths_;
  }
  std::optional<Answer> answer_to(const Request& request) {
    if (const auto* admit = std::get_if<request::Admit>(&request)) {
      if (!happens(admission_)) return std::nullopt;
      if (happens(death_)) ++num_deaths_;
      AdmitAnswer answer{.slot = admit->slot, .verified = failure()};
      never_admitted_.insert(admit->slot);
      return answer;
    }
    const auto* sample = std::get_if<request::Sample>(&request);
    if (sample == nullptr || sample->schedule.empty() || !happens(sample->recheck ? recheck_ : sample_))
      return std::nullopt;
    SampleAnswer answer;
    if (happens(death_)) {
      ++num_deaths_;
      answer.interrupted = true;
    }
    std::set<Slot> failed;
    for (const Turn& turn : sample->schedule) {
      if (happens(answer.interrupted ? 0.2 : 0.6)) failed.insert(turn.slot);
    }
    if (!answer.interrupted && failed.empty()) failed.insert(sample->schedule.front().slot);
    for (const Slot slot : failed) answer.failed.emplace_back(slot, failure());
    Answer whole = answer;
    set_epoch(whole);
    return whole;
  }

  Random random_;
  double admission_ = 0, sample_ = 0, recheck_ = 0, death_ = 0;
  uint32_t num_deaths_ = 0;
  std::set<Slot> never_admitted_;
  std::optional<Answer> own_;
};

std::vector<TuneResult> tune_with_failures(uint64_t seed) {
  FakeDevice device;
  Registry solvers;
  solvers.add(std::make_unique<TimedSolver>("onednn.gemm", std::vector<int>{20, 15, 14}));
  solvers.add(std::make_unique<TimedSolver>("openblas.gemm", std::vector<int>{19, 16}));
  solvers.add(std::make_unique<TimedSolver>("jit_cpu.gemm", std::vector<int>{18, 10, 11, 12, 30}));
  LocalExecutor inner(device, solvers);
  RandomlyFailingExecutor executor(inner, seed);
  const auto journal = open_memory_journal();
  TestClock clock;
  SilentObserver observer;
  const std::atomic<bool> interrupted = false;
  TunerOptions options;
  options.exhaustive = seed % 16 == 0;
  std::vector<WorkItem> items;
  for (const int m : {1, 2}) {
    const auto problem = Problem::parse(fmt::format("gemm_a16w16 m={} n=3 k=4 dtype=fp32", m));
    items.push_back({.problem = op_of(problem).normalise(problem, {})});
  }
  return Tuner(executor, *journal, options, clock).run(items, observer, interrupted);
}

TEST(RandomFailures, EndInADecisionOrAReasonAndBreakNoCheck) {
  const char* const count = std::getenv("ATTUNE_FAULTS");
  const uint64_t num = count != nullptr ? std::strtoull(count, nullptr, 10) : 100;
  std::map<Ending, size_t> endings;
  const char* const first = std::getenv("ATTUNE_FIRST_SEED");  // To repeat a failure.
  const uint64_t begin = first != nullptr ? std::strtoull(first, nullptr, 10) : 1;
  for (uint64_t seed = begin; seed < begin + num; ++seed) {
    std::vector<TuneResult> results;
    ASSERT_NO_THROW(results = tune_with_failures(seed)) << "seed " << seed;
    for (const TuneResult& result : results) {
      ++endings[result.ending];
      EXPECT_EQ(result.ending == Ending::decided, result.decision.has_value()) << "seed " << seed;
      EXPECT_TRUE(result.ending == Ending::decided || !result.reason.empty()) << "seed " << seed;
      for (const auto& [candidate, outcome] : result.failures) {
        const bool machine_failed = outcome.status == Status::out_of_memory || outcome.status == Status::device_lost;
        EXPECT_FALSE(machine_failed && result.ending == Ending::unsupported) << "seed " << seed;
        const bool is_default_best = result.decision && (result.decision->verdict == Verdict::baseline ||
                                                         result.decision->verdict == Verdict::tie);
        EXPECT_TRUE(!machine_failed || !is_default_best || result.decision->incomplete) << "seed " << seed;
      }
    }
  }
  if (first == nullptr) {
    EXPECT_GT(endings[Ending::decided], num / 2);
  }
}

/// A device without memory: for every candidate but one solver's, or for the operands of the problem.
class ExecutorWithoutMemory final : public ForwardingExecutor {
 public:
  ExecutorWithoutMemory(Executor& inner, std::string spared) : ForwardingExecutor(inner), spared_(std::move(spared)) {}
  int descriptor() const override { return -1; }
  void begin(Request request) override {
    const auto* admit = std::get_if<request::Admit>(&request);
    if (admit == nullptr || admit->admission.candidate.solver == spared_)
      return ForwardingExecutor::begin(std::move(request));
    ++num_refused_;
    own_ = AdmitAnswer{.slot = admit->slot,
                       .verified = {Status::out_of_memory, "the GPU has no 12 MiB left", {}},
                       .lacks_memory = spared_.empty()};
  }
  std::optional<Answer> take() override {
    return own_ ? std::exchange(own_, std::nullopt) : ForwardingExecutor::take();
  }
  size_t num_refused() const noexcept { return num_refused_; }

 private:
  std::string spared_;
  size_t num_refused_ = 0;
  std::optional<Answer> own_;
};

TuneResult tune_without_memory(const std::string& spared, size_t& num_refused) {
  FakeDevice device;
  Registry solvers;
  solvers.add(std::make_unique<TimedSolver>("onednn.gemm", std::vector<int>{20}));
  solvers.add(std::make_unique<TimedSolver>("jit_cpu.gemm", std::vector<int>{18, 10, 11, 12}));
  LocalExecutor inner(device, solvers);
  ExecutorWithoutMemory executor(inner, spared);
  const auto journal = open_memory_journal();
  TestClock clock;
  SilentObserver observer;
  const std::atomic<bool> interrupted = false;
  const auto problem = Problem::parse("gemm_a16w16 m=2 n=3 k=4 dtype=fp32");
  const std::vector<WorkItem> items = {{.problem = op_of(problem).normalise(problem, {})}};
  const auto results = Tuner(executor, *journal, {}, clock).run(items, observer, interrupted);
  num_refused = executor.num_refused();
  return results.front();
}

TEST(OutOfMemory, ADefaultConfigThatMetNoOtherIsNotCalledTheFastest) {
  size_t num_refused = 0;
  const TuneResult result = tune_without_memory("onednn.gemm", num_refused);
  EXPECT_EQ(result.ending, Ending::cut);
  EXPECT_EQ(result.reason, "4 of 5 candidates had no memory or no worker, so none is known to be the fastest");
  EXPECT_TRUE(result.lacks_memory);
  EXPECT_FALSE(result.decision);
}

TEST(OutOfMemory, AProblemWhoseOperandsFindNoneIsLeftAtOnceToTheNextRun) {
  size_t num_refused = 0;
  const TuneResult result = tune_without_memory("", num_refused);
  EXPECT_EQ(result.ending, Ending::cut);
  EXPECT_EQ(result.reason, "its operands found no memory: the GPU has no 12 MiB left");
  EXPECT_TRUE(result.lacks_memory);
  EXPECT_EQ(num_refused, 1u);
}

}  // namespace
}  // namespace attune
