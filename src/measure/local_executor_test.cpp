// SPDX-License-Identifier: MIT
#include "measure/local_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <new>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "device/fake/fake_device.h"
#include "measure/blocking_calls.h"
#include "measure/evaluate.h"
#include "testing/enqueued_gemm.h"
#include "testing/planted_gemm.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Configs name a fault and a time: `fault=none;us=5`. Records the calls of prepare. `enqueued`: an EnqueuedGemm,
/// 1: that states so; `claims`: the plan states that it can be captured, which is wrong.
class PlantedSolver final : public Solver {
 public:
  /// `at_end`: called when a plan is freed.
  explicit PlantedSolver(std::string id = "planted.gemm", int* opened = nullptr,
                         const std::function<void()>* at_end = nullptr, std::vector<void*>* weights = nullptr,
                         const std::function<void()>* on_run = nullptr)
      : id_(std::move(id)), opened_(opened), at_end_(at_end), weights_(weights), on_run_(on_run) {}
  std::string_view id() const override { return id_; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "planted faults"; }
  Support supports(const Problem& problem, const DeviceInfo&) const override {
    return problem.integer("k") == 999 ? Support::no("k=999 is not its thing") : Support{};
  }
  std::unique_ptr<Backend> open(Device& device) const override {
    if (opened_ != nullptr) ++*opened_;
    if (id_ == "absent.gemm") fail(ErrorCode::unavailable, "the planted library is absent");
    return std::make_unique<PlantedBackend>(id_, dynamic_cast<FakeDevice&>(device), at_end_, weights_, on_run_);
  }

 private:
  class PlantedBackend final : public Backend {
   public:
    PlantedBackend(std::string id, FakeDevice& device, const std::function<void()>* at_end, std::vector<void*>* weights,
                   const std::function<void()>* on_run)
        : id_(std::move(id)), device_(device), at_end_(at_end), weights_(weights), on_run_(on_run) {}
    Versions versions() const override { return {{id_, "1+7"}}; }
    SearchSpace space(const Problem&) override {
      std::vector<Config> rows;
      for (const char* row :
           {"fault=none;us=5", "fault=none;us=6", "fault=none;us=8;workspace=64", "fault=none;us=0", "fault=none;us=-3",
            "fault=none;us=5;workspace=600000000", "fault=tile_dropped;us=5", "fault=throws;us=5", "fault=load;us=5",
            "enqueued=0;fault=none;us=5", "enqueued=1;fault=none;us=5", "claims=1;fault=none;us=5"}) {
        rows.push_back(Config::parse(row));
      }
      return SearchSpace::listed(std::move(rows));
    }
    Config untuned(const Problem&) override { return Config::parse("fault=none;us=5"); }
    std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext&) override {
      if (config.text("fault") == "load") fail(ErrorCode::invalid_input, "no such algorithm");
      const auto named = std::find(kFaultNames.begin(), kFaultNames.end(), config.text("fault"));
      const auto fault = static_cast<Fault>(named - kFaultNames.begin());
      const auto us = static_cast<double>(config.integer("us"));
      if (config.has("enqueued"))
        return std::make_unique<EnqueuedGemm>(GemmShape::of(problem), us, config.integer("enqueued") == 1, device_,
                                              [this](auto operands) { weights_->push_back(operands[1]); });
      const std::shared_ptr<void> life(nullptr, [at_end = at_end_](void*) {
        if (at_end != nullptr && *at_end) (*at_end)();
      });
      auto plan = std::make_unique<PlantedGemm>(GemmShape::of(problem), fault, [this, life, us] {
        device_.advance_us(us);
        if (on_run_ != nullptr && *on_run_) (*on_run_)();
      });
      plan->declare().capturable = config.has("claims");
      if (config.has("workspace")) plan->declare().workspace_bytes = static_cast<uint64_t>(config.integer("workspace"));
      return plan;
    }

   private:
    std::string id_;
    FakeDevice& device_;
    const std::function<void()>* at_end_;
    std::vector<void*>* weights_;
    const std::function<void()>* on_run_;
  };
  std::string id_;
  int* opened_;
  const std::function<void()>* at_end_;
  std::vector<void*>* weights_;
  const std::function<void()>* on_run_;
};

class LocalExecutorTest : public ::testing::Test {
 protected:
  LocalExecutorTest() {
    registry_.add(std::make_unique<PlantedSolver>("planted.gemm", &opened_, &at_end_, &weights_, &on_run_));
    registry_.add(std::make_unique<PlantedSolver>("absent.gemm"));
    registry_.add_unavailable("gone.gemm", "a module that did not open", "libgone.so: cannot open shared object file");
  }
  void start(const FakeNoise& noise = {}, Announcer* announcer = nullptr) {
    device_ = std::make_unique<FakeDevice>(noise);
    executor_ = std::make_unique<LocalExecutor>(*device_, registry_, announcer);
  }
  OpenAnswer open(ProblemId id, const std::string& text = "gemm_a16w16 m=20 n=40 k=64 dtype=fp32",
                  Timing timing = Timing::clock) {
    return attune::open(*executor_, {id, Problem::parse(text), Protocol{.seed = 5, .timing = timing}});
  }
  AdmitAnswer admit(Slot slot, const std::string& config, Limits limits = {}) {
    return admit(slot, {.candidate = {"planted.gemm", "1+7", Config::parse(config)}, .twice = true, .limits = limits});
  }
  AdmitAnswer admit(Slot slot, const Admission& admission) { return attune::admit(*executor_, {1, slot, admission}); }
  SampleAnswer sample(std::vector<Turn> schedule) { return attune::sample(*executor_, {std::move(schedule)}); }

  int opened_ = 0;
  std::function<void()> at_end_, on_run_;
  std::vector<void*> weights_;  ///< Read by the launches of an EnqueuedGemm.
  Registry registry_;
  std::unique_ptr<FakeDevice> device_;
  std::unique_ptr<LocalExecutor> executor_;
};

TEST_F(LocalExecutorTest, AnswersWithAContenderForEverySolver) {
  start();
  const OpenAnswer answer = open(1);
  EXPECT_EQ(answer.refused, "");
  ASSERT_EQ(answer.contenders.size(), 3u);
  EXPECT_EQ(answer.contenders[0].solver, "planted.gemm");
  EXPECT_EQ(answer.contenders[0].version, "1+7") << "with the library's";
  EXPECT_TRUE(answer.contenders[0].support.yes);
  EXPECT_EQ(answer.contenders[0].space.size(), 12u);
  EXPECT_EQ(answer.contenders[0].untuned.key(), "fault=none;us=5");
  EXPECT_EQ(answer.contenders[1].support, Support::no("the planted library is absent"));
  EXPECT_EQ(answer.contenders[2].support, Support::no("libgone.so: cannot open shared object file"));
}

TEST_F(LocalExecutorTest, OpensALibraryOnceAndOnlyWhenAProblemIsSupported) {
  start();
  EXPECT_EQ(open(1, "gemm_a16w16 m=20 n=40 k=999 dtype=fp32").contenders[0].support,
            Support::no("k=999 is not its thing"));
  EXPECT_EQ(opened_, 0);
  executor_->close(1);
  open(2);
  open(3);
  EXPECT_EQ(opened_, 1);
}

TEST_F(LocalExecutorTest, IsBusyWithTwoProblemsUntilOneIsClosed) {
  start();
  open(1);
  open(2);
  EXPECT_TRUE(open(3).busy);
  executor_->close(1);
  EXPECT_EQ(open(3).refused, "");
}

TEST_F(LocalExecutorTest, RefusesWhatDoesNotFitWithoutAllocatingIt) {
  start();
  const OpenAnswer answer = open(1, "gemm_a16w16 m=2000000000 n=2000000000 k=2000000000 dtype=fp32");
  EXPECT_THAT(answer.refused, HasSubstr("does not fit in memory"));
  EXPECT_THAT(answer.refused, HasSubstr("of 1.1 GB usable"));
  EXPECT_TRUE(answer.contenders.empty());
  EXPECT_EQ(device_->memory().allocated_bytes(), 0u);
}

/// A fake device that states a terabyte of memory.
class LargeDevice final : public Device {
 public:
  LargeDevice() { info_.memory_bytes = int64_t{1} << 40; }
  const DeviceInfo& info() const override { return info_; }
  double relative_clock() override { return inner_.relative_clock(); }
  bool healthy() noexcept override { return inner_.healthy(); }
  DeviceMemory& memory() override { return inner_.memory(); }
  std::unique_ptr<Stream> open_stream() override { return inner_.open_stream(); }
  double bandwidth_gbs(uint64_t bytes, Reading reading) override { return inner_.bandwidth_gbs(bytes, reading); }

 private:
  FakeDevice inner_;
  DeviceInfo info_ = inner_.info();
};

TEST_F(LocalExecutorTest, RefusesAReferenceThatTheHostWouldComputeForHours) {
  LargeDevice device;
  LocalExecutor executor(device, registry_);
  const auto open = [&](ProblemId id, const char* text) {
    return attune::open(executor, {id, Problem::parse(text), Protocol()}).refused;
  };
  EXPECT_EQ(open(1, "gemm_a16w16 m=16384 n=16384 k=32768 dtype=fp32"), "") << "exactly the limit";
  EXPECT_EQ(open(2, "gemm_a16w16 m=32768 n=32768 k=32768 dtype=fp32"),
            "the reference is too much for a host, and fake:0 has no kernel for it; use a smaller shape: "
            "7.04e+13 operations, 1.76e+13 is the limit");
}

TEST_F(LocalExecutorTest, RefusesWhatIsNotAProblem) {
  start();
  EXPECT_THAT(open(1, "gemm_a16w16 m=0 n=1 k=1").refused, HasSubstr("'m'"));
  EXPECT_THAT(open(1, "conv m=1").refused, HasSubstr("unknown op"));
}

TEST_F(LocalExecutorTest, AdmitsACorrectCandidateAndCountsItsLaunches) {
  start();
  open(1);
  const AdmitAnswer answer = admit(4, "fault=none;us=5");
  EXPECT_TRUE(answer.verified.ok()) << answer.verified.detail;
  EXPECT_EQ(answer.slot, 4u);
  EXPECT_EQ(answer.batch, 1u) << "virtual time is exact";
  EXPECT_EQ(answer.launches, 3u + 1u + 3u) << "verification, untimed, timed";
}

TEST_F(LocalExecutorTest, AFailedCandidateIsAnOutcome) {
  start();
  open(1);
  EXPECT_EQ(admit(1, "fault=tile_dropped;us=5").verified.status, Status::wrong_result);
  EXPECT_EQ(admit(2, "fault=throws;us=5").verified.status, Status::launch_failed);
  EXPECT_EQ(admit(3, "fault=load;us=5").verified.status, Status::load_failed);
  EXPECT_EQ(admit(4, "fault=none;us=5;workspace=600000000").verified.status, Status::out_of_memory);
  EXPECT_EQ(admit(5, "fault=none;us=0").verified.status, Status::implausible_time);
  EXPECT_EQ(admit(6, "fault=none;us=-3").verified.status, Status::implausible_time);
  EXPECT_EQ(admit(9, "fault=none;us=77").verified.status, Status::unsupported) << "none of the solver's configs";
  EXPECT_EQ(admit(7, {.candidate = {"planted.gemm", "0+1", Config::parse("fault=none;us=5")}}).verified.status,
            Status::unsupported)
      << "another version";
  EXPECT_EQ(admit(8, {.candidate = {"gone.gemm", "1", Config()}}).verified.detail,
            "gone.gemm libgone.so: cannot open shared object file");
  EXPECT_TRUE(sample({{.slot = 1}, {.slot = 5}}).samples.empty()) << "none of them can be sampled";
}

TEST_F(LocalExecutorTest, SamplesEveryTurnInOrder) {
  start();
  open(1);
  admit(1, "fault=none;us=5");
  admit(2, "fault=none;us=8;workspace=64");
  const SampleAnswer answer =
      sample({{.slot = 2, .round = 0, .launches = 16}, {.slot = 1, .round = 0}, {.slot = 1, .round = 1}});
  ASSERT_EQ(answer.samples.size(), 3u);
  EXPECT_EQ(answer.turns[0].slot, 2u);
  EXPECT_EQ(answer.samples[0], (Sample{.us = 8, .clock = 1, .round = 0, .dirty = false}));
  EXPECT_EQ(answer.samples[1].us, 5);
  EXPECT_EQ(answer.samples[2].round, 1u);
  EXPECT_EQ(answer.launches, 16u + 2u + 1u + 1u + 1u + 1u) << "untimed ones included";
  EXPECT_EQ(answer.dropped, 0u);
  EXPECT_TRUE(answer.failed.empty());
}

TEST_F(LocalExecutorTest, ReplaysAGraphOfEachTurnWithTheCopiesInAFreshOrder) {
  constexpr uint32_t kLaunches = 16;
  start();
  open(1, "gemm_a16w16 m=5 n=40 k=640 dtype=fp32", Timing::graph);
  EXPECT_EQ(admit(1, "enqueued=1;fault=none;us=5").timing, Timing::graph);
  std::vector<std::vector<void*>> orders;
  for (uint32_t round = 0; round < 3; ++round) {
    weights_.clear();
    const SampleAnswer answer = sample({{.slot = 1, .round = round, .launches = kLaunches, .timing = Timing::graph}});
    ASSERT_EQ(answer.samples.size(), 1u);
    EXPECT_EQ(answer.samples[0].us, 5) << "without what a launch takes beside its kernel";
    EXPECT_EQ(answer.launches, kLaunches + kLaunches / 8);
    ASSERT_EQ(weights_.size(), answer.launches) << "each launch runs once";
    orders.emplace_back(weights_.end() - kLaunches, weights_.end());
    EXPECT_GT(std::set<void*>(orders.back().begin(), orders.back().end()).size(), kLaunches / 2);
  }
  EXPECT_NE(orders[0], orders[1]);
  EXPECT_NE(orders[1], orders[2]);
  EXPECT_EQ(sample({{.slot = 1, .timing = Timing::events}}).samples[0].us,
            static_cast<float>(5 + FakeDevice::kLaunchUs));
}

TEST_F(LocalExecutorTest, APlanThatCannotBeCapturedIsTimedByEvents) {
  start();
  open(1, "gemm_a16w16 m=20 n=40 k=64 dtype=fp32", Timing::graph);
  for (const char* config : {"fault=none;us=5", "enqueued=0;fault=none;us=5", "claims=1;fault=none;us=5"}) {
    const AdmitAnswer admitted = admit(1, config);
    EXPECT_TRUE(admitted.verified.ok()) << admitted.verified.detail;
    EXPECT_EQ(admitted.timing, Timing::events) << config;
    EXPECT_EQ(sample({{.slot = 1, .timing = Timing::events}}).samples.size(), 1u);
  }
}

TEST_F(LocalExecutorTest, WhatIsTimedByEventsIsNotCaptured) {
  start();
  open(1, "gemm_a16w16 m=20 n=40 k=64 dtype=fp32", Timing::events);
  EXPECT_EQ(admit(1, "enqueued=1;fault=none;us=5").timing, Timing::events);
}

TEST_F(LocalExecutorTest, MarksDisturbedSamplesDirty) {
  start({.dirty_share = 0.5, .dirty_factor = 2});
  open(1);
  admit(1, "fault=none;us=5");
  const SampleAnswer answer = sample(std::vector<Turn>(40, Turn{.slot = 1}));
  int dirty = 0;
  for (const Sample& sample : answer.samples) {
    EXPECT_EQ(sample.us, sample.dirty ? 10 : 5);
    dirty += sample.dirty ? 1 : 0;
  }
  EXPECT_GT(dirty, 8);
  EXPECT_LT(dirty, 32);
}

TEST_F(LocalExecutorTest, TakesASampleAgainWhenTheClockIsLowAndCountsIt) {
  start({.slow_clock_share = 1});
  open(1);
  admit(1, "fault=none;us=5");
  const SampleAnswer answer = sample({{.slot = 1}});
  EXPECT_EQ(answer.dropped, 3u);
  ASSERT_EQ(answer.samples.size(), 1u) << "then at the clock there is";
  EXPECT_EQ(answer.samples[0].clock, 0.5f);
  EXPECT_EQ(answer.launches, 5u);
}

/// The sentence with which a request ends because the device no longer works.
std::string end_of(const std::function<void()>& request) {
  try {
    request();
  } catch (const Error& error) {
    return error.code() == ErrorCode::device ? error.what() : "";
  }
  return "";
}

TEST_F(LocalExecutorTest, TheEndOfADeviceNamesTheCandidateThatRan) {
  const std::string sentence = "fake:0 stopped working; the candidate that ran is planted.gemm@1+7:fault=none;us=";
  start();
  open(1);
  ASSERT_TRUE(admit(1, "fault=none;us=5").verified.ok());
  ASSERT_TRUE(admit(2, "fault=none;us=6").verified.ok());
  at_end_ = [&] { device_->break_down(); };
  EXPECT_EQ(end_of([&] { admit(3, "fault=throws;us=5"); }),
            "fake:0 stopped working; the candidate that ran is planted.gemm@1+7:fault=throws;us=5");
  EXPECT_EQ(end_of([&] { sample({{.slot = 2}, {.slot = 1}}); }), sentence + "6");
  EXPECT_EQ(end_of([&] { executor_->drop(1); }), sentence + "5") << "when it is freed";
  EXPECT_EQ(end_of([&] { open(2); }), "fake:0 stopped working: while a problem was opened") << "no candidate ran";
}

TEST_F(LocalExecutorTest, ASlotThatFailsWhileSampledLosesItsSamplesAndSparesTheOthers) {
  start();
  open(1);
  admit(1, "fault=none;us=5");
  admit(2, "fault=none;us=6");
  // A deadline that no run can meet makes the second turn of slot 2 fail.
  auto late = Turn{.slot = 2, .round = 1, .launches = 40, .limit = Milliseconds(1)};
  const SampleAnswer answer =
      sample({{.slot = 2}, {.slot = 1}, late, {.slot = 2, .round = 2}, {.slot = 1, .round = 2}});
  ASSERT_EQ(answer.failed.size(), 1u);
  EXPECT_EQ(answer.failed[0].first, 2u);
  EXPECT_EQ(answer.failed[0].second.status, Status::timed_out);
  ASSERT_EQ(answer.turns.size(), 2u);
  EXPECT_EQ(answer.turns[0].slot, 1u);
  EXPECT_EQ(answer.turns[1].round, 2u);
}

TEST_F(LocalExecutorTest, DropAndCloseFreeWhatTheyHeld) {
  start();
  open(1);
  admit(1, "fault=none;us=5");
  executor_->drop(1);
  EXPECT_TRUE(sample({{.slot = 1}}).turns.empty());
  EXPECT_GT(device_->memory().allocated_bytes(), 0u);
  executor_->close(1);
  EXPECT_EQ(device_->memory().allocated_bytes(), 0u) << "at once, without a request";
}

/// Records the last announcement.
class Page final : public Announcer {
 public:
  void announce(Slot slot, Milliseconds limit) override { announced = {slot, limit}; }
  void end_worker(const std::string&) noexcept override { broke_it = announced.first; }
  Slot broke_it = 0;  ///< Announced when the device broke.
  using SlotLimit = std::pair<Slot, Milliseconds>;
  SlotLimit announced;
};

TEST_F(LocalExecutorTest, WhatIsGivenBackIsAnnouncedWithTheLimitOfItsLoad) {
  Page page;
  std::vector<Page::SlotLimit> given_back;
  at_end_ = [&] { given_back.push_back(page.announced); };
  start({}, &page);
  open(1);
  const auto ms = [](int count) { return Milliseconds(count); };
  for (const int slot : {1, 2, 3, 4}) admit(static_cast<Slot>(slot), "fault=none;us=5", {ms(1000 * slot), ms(9000)});
  admit(5, "fault=tile_dropped;us=5", {ms(5000), ms(9000)});
  EXPECT_THAT(std::exchange(given_back, {}), ElementsAre(Page::SlotLimit{5, ms(5000)})) << "it was wrong";
  ASSERT_EQ(sample({{.slot = 1, .launches = 400, .limit = ms(1)}}).failed.size(), 1u);
  EXPECT_THAT(std::exchange(given_back, {}), ElementsAre(Page::SlotLimit{1, ms(1000)})) << "it was too slow";
  executor_->drop(2);
  executor_->close(1);
  EXPECT_THAT(given_back,
              ElementsAre(Page::SlotLimit{2, ms(2000)}, Page::SlotLimit{3, ms(3000)}, Page::SlotLimit{4, ms(4000)}));
  EXPECT_EQ(page.announced, Page::SlotLimit{}) << "and what comes then is nobody's";
}

TEST_F(LocalExecutorTest, ABrokenDeviceEndsAllWorkWhileTheSlotThatBrokeItIsAnnounced) {
  // While a candidate is verified, sampled, and freed.
  for (const int when : {1, 2, 3}) {
    Page page;
    executor_.reset();
    start({}, &page);
    open(1);
    admit(1, "fault=none;us=5");
    admit(2, "fault=none;us=5");
    EXPECT_EQ(page.broke_it, 0u);
    at_end_ = [&] { device_->break_down(); };
    const std::function<void()> steps[] = {
        [&] { admit(3, "fault=tile_dropped;us=5"); },
        [&] {
          sample({{.slot = 1}, {.slot = 2, .launches = 400, .limit = Milliseconds(1)}});
        },
        [&] { executor_->drop(1); }};
    EXPECT_THROW(steps[when - 1](), Error);
    EXPECT_EQ(page.broke_it, when == 1 ? 3u : when == 2 ? 2u : 1u);
    at_end_ = {};
  }
}

TEST_F(LocalExecutorTest, AnAbortedRequestIsAnsweredWithoutBeingDone) {
  start();
  open(1);
  const auto aborted = [&](Request request) {
    executor_->begin(std::move(request));
    executor_->abort();
    return executor_->take().value();
  };
  EXPECT_EQ(std::get<OpenAnswer>(aborted(request::Open{7, {}, {}})),
            (OpenAnswer{.problem = 7, .refused = "the run was stopped"}));
  const auto admitted = std::get<AdmitAnswer>(aborted(request::Admit{1, 6, {}}));
  EXPECT_EQ(admitted.slot, 6u);
  EXPECT_EQ(admitted.verified.status, Status::cancelled);
  EXPECT_TRUE(std::get<SampleAnswer>(aborted(request::Sample{{{.slot = 1}}})).interrupted);
  EXPECT_EQ(std::get<RecycleAnswer>(aborted(request::Recycle{})).epoch, 0u);
  EXPECT_EQ(opened_, 1) << "nothing was recycled";
  EXPECT_EQ(device_->memory().allocated_bytes(), 0u);
  executor_->abort();  // nothing is outstanding
  EXPECT_TRUE(admit(1, "fault=none;us=5").verified.ok()) << "the problem is still open";
}

/// Without a blocking call, which ticks once more before the request.
TEST_F(LocalExecutorTest, TicksBetweenStepsAndStopsAtTheNextOne) {
  start();
  open(1);
  on_run_ = [] { std::this_thread::sleep_for(std::chrono::milliseconds(30)); };
  int num_ticks = 0, last = -1;
  const Tick tick = [&] { return ++num_ticks == last; };
  executor_->set_tick(tick);
  const auto take = [&](Request request) {
    executor_->begin(std::move(request));
    return executor_->take().value();
  };
  const Admission admission{.candidate = {"planted.gemm", "1+7", Config::parse("fault=none;us=5")}};
  EXPECT_TRUE(std::get<AdmitAnswer>(take(request::Admit{1, 1, admission})).verified.ok());
  EXPECT_GE(num_ticks, 1) << "of four launches at least";
  num_ticks = 0;
  const std::vector<Turn> schedule(5, {.slot = 1});
  EXPECT_EQ(std::get<SampleAnswer>(take(request::Sample{schedule})).turns.size(), 5u);
  EXPECT_GE(num_ticks, 2) << "of five turns of two launches";

  num_ticks = 0;
  last = 1;
  const auto sampled = std::get<SampleAnswer>(take(request::Sample{schedule}));
  EXPECT_TRUE(sampled.interrupted && sampled.is_cancelled);
  EXPECT_EQ(num_ticks, 1) << "no turn after it";
  num_ticks = 0;
  EXPECT_EQ(std::get<AdmitAnswer>(take(request::Admit{1, 2, admission})).verified.status, Status::cancelled);
  executor_->set_tick({});
  EXPECT_TRUE(sample({{.slot = 2}}).turns.empty()) << "it was not admitted";
  EXPECT_EQ(sample({{.slot = 1}}).turns.size(), 1u) << "the other still is";
}

TEST_F(LocalExecutorTest, AProblemWhoseOpeningIsStoppedIsNotOpen) {
  start();
  executor_->set_tick([] { return true; });
  executor_->begin(request::Open{1, Problem::parse("gemm_a16w16 m=20 n=40 k=64 dtype=fp32"), {}, {}});
  std::this_thread::sleep_for(std::chrono::milliseconds(105));
  EXPECT_EQ(std::get<OpenAnswer>(executor_->take().value()).refused, "the run was stopped");
  EXPECT_EQ(opened_, 0) << "no library was";
  executor_->set_tick({});
  open(2);
  EXPECT_FALSE(open(3).busy) << "the stopped one takes no place";
}

TEST_F(LocalExecutorTest, WhatItThrowsEndsTheRequest) {
  struct Failing final : Announcer {
    void announce(Slot, Milliseconds) override {
      if (fails) fail(ErrorCode::io, "planted: nobody listens");
    }
    void end_worker(const std::string&) noexcept override {}
    bool fails = true;
  } announcer;
  start({}, &announcer);
  EXPECT_THROW(open(1), Error);
  EXPECT_FALSE(executor_->take());
  announcer.fails = false;
  EXPECT_EQ(open(1).refused, "");
}

TEST_F(LocalExecutorTest, DoesOneRequestAtATime) {
  start();
  EXPECT_FALSE(executor_->take()) << "there is none";
  EXPECT_LT(executor_->descriptor(), 0) << "take() does it";
  executor_->begin(request::Open{1, Problem::parse("gemm_a16w16 m=20 n=40 k=64 dtype=fp32"), {}});
  EXPECT_EQ(opened_, 0) << "not before take()";
  EXPECT_DEATH(executor_->begin(request::Recycle{}), "one request at a time");
  EXPECT_DEATH(executor_->close(1), "while a request is outstanding");
  EXPECT_DEATH(executor_->drop(1), "while a request is outstanding");
  EXPECT_TRUE(executor_->take());
  EXPECT_FALSE(executor_->take()) << "an answer is taken once";
}

TEST(Evaluate, MakesAnOutcomeOfEveryException) {
  const auto status = [&](Step step, const std::function<void()>& work) {
    return evaluate(step,
                    [&] {
                      work();
                      return Finding{};
                    })
        .status;
  };
  const auto throws = [](ErrorCode code) { return [code] { throw Error(code, "no"); }; };
  EXPECT_EQ(status(Step::run, [] {}), Status::ok);
  EXPECT_EQ(status(Step::prepare, throws(ErrorCode::unavailable)), Status::unsupported);
  EXPECT_EQ(status(Step::prepare, throws(ErrorCode::device)), Status::launch_failed);
  EXPECT_EQ(status(Step::prepare, throws(ErrorCode::invalid_input)), Status::load_failed);
  EXPECT_EQ(status(Step::memory, throws(ErrorCode::device)), Status::out_of_memory);
  EXPECT_EQ(status(Step::run, throws(ErrorCode::device)), Status::launch_failed);
  EXPECT_EQ(status(Step::run, throws(ErrorCode::timeout)), Status::timed_out);
  EXPECT_EQ(status(Step::run, [] { throw std::bad_alloc(); }), Status::out_of_memory);
  EXPECT_EQ(status(Step::prepare, [] { throw std::runtime_error("foreign"); }), Status::load_failed);
  EXPECT_EQ(status(Step::run, [] { throw 7; }), Status::launch_failed);
}

TEST_F(LocalExecutorTest, RecyclingOpensLibrariesAndPreparesPlansAnew) {
  const auto num_freed = std::make_shared<int>(0);  // Plans are freed after the test, too.
  at_end_ = [num_freed] { ++*num_freed; };
  start();
  open(1);
  EXPECT_TRUE(admit(1, "fault=none;us=5").verified.ok());
  EXPECT_TRUE(admit(2, "fault=none;us=6").verified.ok());
  const uint64_t bytes = device_->memory().allocated_bytes();
  EXPECT_EQ(recycle(*executor_).epoch, 1u);
  EXPECT_EQ(opened_, 2);
  EXPECT_EQ(*num_freed, 2);
  EXPECT_LE(device_->memory().allocated_bytes(), bytes) << "the first bench is gone";
  const SampleAnswer sampled = sample({{.slot = 1, .round = 1}, {.slot = 2, .round = 1}});
  EXPECT_EQ(sampled.epoch, 1u);
  EXPECT_TRUE(sampled.failed.empty());
  ASSERT_EQ(sampled.samples.size(), 2u);
  EXPECT_FLOAT_EQ(sampled.samples[0].us, 5);
}

TEST_F(LocalExecutorTest, WhatCannotBePreparedAgainFailsInTheNextScheduleThatNamesIt) {
  start();
  open(1);
  EXPECT_TRUE(admit(1, "fault=none;us=5").verified.ok());
  EXPECT_TRUE(admit(2, "fault=none;us=6").verified.ok());
  executor_->skip_solvers({{0, "it killed its worker"}});  // its library cannot be opened any more
  recycle(*executor_);
  EXPECT_THAT(sample({{.slot = 1, .round = 1}}).failed, ElementsAre(testing::Pair(1u, testing::_)));
  EXPECT_THAT(sample({{.slot = 1, .round = 1}, {.slot = 2, .round = 1}}).failed,
              ElementsAre(testing::Pair(2u, testing::_)))
      << "each is told once";
}

}  // namespace
}  // namespace attune
