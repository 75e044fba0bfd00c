// SPDX-License-Identifier: MIT
#include "tuner/problem/search_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "base/error.h"
#include "device/fake/fake_device.h"
#include "ops/op.h"

namespace attune {
namespace {

/// Asks for the configs of its space in their order, and logs what it is asked and told.
class LoggingStrategy final : public Strategy {
 public:
  LoggingStrategy(uint64_t size, std::function<void(const std::string&)> log) : size_(size), log_(std::move(log)) {}
  std::vector<uint64_t> ask(size_t) override {
    if (exhausted()) return {};
    log_(fmt::format("?{}", next_));
    return {next_++};
  }
  void tell(const Trial& trial) override { log_(fmt::format("={}", trial.index)); }
  bool exhausted() const override { return next_ == size_; }

 private:
  uint64_t size_, next_ = 0;
  std::function<void(const std::string&)> log_;
};

/// A search over the configs 0 to 9 of one solver; the parameter: whether it has a thread.
class SearchThreads : public testing::TestWithParam<bool> {
 protected:
  SearchThreads() {
    Contender contender;
    contender.solver = "a.one";
    contender.version = "1";
    contender.space = SearchSpace::product({{.name = "n", .values = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}}, {});
    contender.untuned = Config({{"n", 0}});
    options_.make_strategy = [this](const SearchTask& task, const StrategyOptions&) {
      return std::make_unique<LoggingStrategy>(task.domain.size(), [this](const std::string& what) {
        if (on_call_) on_call_(what);
        log_ += (log_.empty() ? "" : " ") + what;
      });
    };
    source_ = std::make_unique<CandidateSource>(WorkItem{.problem = problem_}, FakeDevice::describe(),
                                                std::vector<Contender>{contender}, options_, StartingPoints{});
  }
  static std::vector<int64_t> numbers(const std::vector<Candidate>& candidates) {
    std::vector<int64_t> numbers;
    for (const Candidate& one : candidates) numbers.push_back(one.config.integer("n"));
    return numbers;
  }
  static Candidate candidate(int64_t n) { return {"a.one", "1", Config({{"n", n}})}; }

  const Problem text_ = Problem::parse("gemm_a16w16 m=5 n=33 k=8 dtype=fp32");
  const Problem problem_ = op_of(text_).normalise(text_, FakeDevice::describe());
  TunerOptions options_;
  std::string log_;
  std::function<void(const std::string&)> on_call_;  ///< Called while the strategy is asked or told.
  std::unique_ptr<CandidateSource> source_;
};

TEST_P(SearchThreads, DoesWhatItIsCalledForInTheOrderOfTheCalls) {
  SearchThread search(*source_, GetParam());
  search.begin({});
  search.ask(3, 0);
  search.tell(candidate(0), {.median_us = 1});
  search.ask(3, 1);
  search.ask(3, 1);
  search.ask(4, 2);
  search.tell(candidate(1), {.median_us = 1});
  search.wait();
  EXPECT_EQ(log_, "?0 ?1 ?2 =0 ?3 ?4 ?5 =1") << "as many as are missing to those that wait";
  EXPECT_THAT(numbers(search.take()), testing::ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(search.take(), testing::IsEmpty()) << "each is taken once";
}

TEST_P(SearchThreads, ThrowsTheErrorOfTheSearchAndDropsWhatWasCalledBehindIt) {
  on_call_ = [](const std::string& what) {
    if (what == "?2") fail(ErrorCode::invalid_input, "planted error");
  };
  SearchThread search(*source_, GetParam());
  search.begin({});
  EXPECT_THROW(
      {
        search.ask(5, 0);
        search.tell(candidate(0), {});
        search.wait();
      },
      Error);
  EXPECT_EQ(log_, "?0 ?1");
  if (GetParam()) {
    EXPECT_THROW(search.take(), Error) << "from then on always";
    EXPECT_THROW(search.ask(5, 0), Error);
  }
}

INSTANTIATE_TEST_SUITE_P(All, SearchThreads, testing::Bool(),
                         [](const auto& beside) { return beside.param ? "OnAThread" : "AtOnce"; });

using SearchOnAThread = SearchThreads;

TEST_P(SearchOnAThread, EndsAfterTheCallThatItWorksOn) {
  std::atomic<bool> has_begun = false;
  on_call_ = [&](const std::string& what) {
    if (what != "?1") return;
    has_begun = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  {
    SearchThread search(*source_, GetParam());
    search.begin({});
    search.ask(2, 0);
    search.ask(9, 0);
    while (!has_begun) std::this_thread::yield();
  }
  EXPECT_EQ(log_, "?0 ?1");
}

INSTANTIATE_TEST_SUITE_P(Threads, SearchOnAThread, testing::Values(true), [](const auto&) { return "OnAThread"; });

}  // namespace
}  // namespace attune
