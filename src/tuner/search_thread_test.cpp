// SPDX-License-Identifier: MIT
#include "tuner/problem/search_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "base/error.h"

namespace attune {
namespace {

Candidate candidate(int64_t n) { return {"a.one", "1", Config({{"n", n}})}; }

std::vector<int64_t> numbers(const std::vector<Candidate>& candidates) {
  std::vector<int64_t> numbers;
  for (const Candidate& one : candidates) numbers.push_back(one.config.integer("n"));
  return numbers;
}

/// Names n = 0, 1, 2 …, and logs its questions (`?2`) and results (`=2`).
class LoggingSearch final : public CandidateSearch {
 public:
  void begin(const PriorKnowledge&) override { note("begin"); }
  std::vector<Candidate> ask(size_t max_count) override {
    std::vector<Candidate> asked;
    for (size_t i = 0; i < max_count; ++i) {
      note(fmt::format("?{}", next_));
      asked.push_back(candidate(next_++));
    }
    return asked;
  }
  void tell(const Candidate& candidate, Trial) override { note(fmt::format("={}", candidate.config.integer("n"))); }

  std::string log;
  std::function<void(const std::string& what)> on_call;  ///< Called before something is logged.

 private:
  void note(const std::string& what) {
    if (on_call) on_call(what);
    log += (log.empty() ? "" : " ") + what;
  }
  int64_t next_ = 0;
};

/// The parameter: whether there is a thread.
class SearchThreads : public testing::TestWithParam<bool> {
 protected:
  /// Holds the thread back until all calls are queued.
  void await_all_calls() const {
    while (!has_called_all_) std::this_thread::yield();
  }
  LoggingSearch search_;
  std::atomic<bool> has_called_all_ = !GetParam();
};

TEST_P(SearchThreads, DoesWhatItIsCalledForInTheOrderOfTheCalls) {
  search_.on_call = [&](const std::string&) { await_all_calls(); };
  SearchThread thread(search_, GetParam());
  thread.begin({});
  thread.ask(3);
  thread.tell(candidate(0), {.median_us = 1});
  thread.ask(4);
  thread.ask(4);
  thread.ask(6);
  thread.tell(candidate(1), {.median_us = 1});
  has_called_all_ = true;
  thread.wait();
  EXPECT_EQ(search_.log, "begin ?0 ?1 ?2 =0 ?3 ?4 ?5 =1") << "as many as are missing";
  EXPECT_THAT(numbers(thread.take()), testing::ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(thread.take(), testing::IsEmpty()) << "each is taken once";
}

TEST_P(SearchThreads, ThrowsTheErrorOfTheSearchAndDropsWhatWasCalledBehindIt) {
  search_.on_call = [&](const std::string& what) {
    await_all_calls();
    if (what == "?2") fail(ErrorCode::invalid_input, "planted error");
  };
  SearchThread thread(search_, GetParam());
  const auto call = [&] {
    thread.begin({});
    thread.ask(5);
    thread.tell(candidate(0), {});
    has_called_all_ = true;
    thread.wait();
  };
  EXPECT_THROW(call(), Error);
  EXPECT_EQ(search_.log, "begin ?0 ?1");
  if (!GetParam()) return;
  EXPECT_THROW(thread.take(), Error) << "from then on always";
  EXPECT_THROW(thread.ask(5), Error);
}

INSTANTIATE_TEST_SUITE_P(All, SearchThreads, testing::Bool(),
                         [](const auto& beside) { return beside.param ? "OnAThread" : "AtOnce"; });

TEST(SearchOnAThread, EndsAfterTheCallThatItWorksOn) {
  LoggingSearch search;
  std::atomic<bool> has_begun = false;
  search.on_call = [&](const std::string& what) {
    if (what != "?1") return;
    has_begun = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // The destructor is called during this.
  };
  {
    SearchThread thread(search, true);
    thread.begin({});
    thread.ask(2);
    thread.ask(9);
    while (!has_begun) std::this_thread::yield();
  }
  EXPECT_EQ(search.log, "begin ?0 ?1");
}

}  // namespace
}  // namespace attune
