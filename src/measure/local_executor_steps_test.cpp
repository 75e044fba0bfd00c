// SPDX-License-Identifier: MIT
// Announcements of a local executor, and its ticks, stops and ends.
#include <gmock/gmock.h>

#include <new>
#include <stdexcept>
#include <thread>

#include "testing/local_executor_fixture.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

}  // namespace
}  // namespace attune
