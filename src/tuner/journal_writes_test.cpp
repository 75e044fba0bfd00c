// SPDX-License-Identifier: MIT
// When a run writes its journal. Each write waits for the disk, and the device waits for each write that is not made
// during an admission.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "device/fake/fake_device.h"
#include "measure/local_executor.h"
#include "ops/op.h"
#include "solver/registry.h"
#include "testing/tuner_doubles.h"
#include "tuner/tuner.h"

namespace attune {
namespace {

/// Keeps the entries of each write of a journal.
class WatchedJournal final : public Journal {
 public:
  void append(std::span<const Entry> entries) override {
    writes.emplace_back(entries.begin(), entries.end());
    if (on_write) on_write();
    inner_->append(entries);
  }
  int64_t begin_run(const RunBegin& run) override { return inner_->begin_run(run); }
  void join_run(int64_t run) override { inner_->join_run(run); }
  size_t scan(const Query& query, const std::function<void(const Entry&, const Stamp&)>& visit) const override {
    return inner_->scan(query, visit);
  }
  size_t visit_outcomes(const Query& query, const OutcomeVisitor& visit) const override {
    return inner_->visit_outcomes(query, visit);
  }
  EntryCounts count(const Query& query) const override { return inner_->count(query); }
  bool is_in_place() const noexcept override { return true; }
  void visit_headings(const Query& query, const std::function<void(const EntryHeading&)>& visit) const override {
    inner_->visit_headings(query, visit);
  }
  std::optional<Decision> decision(const Problem& problem, const std::string& fingerprint, const Versions& versions,
                                   const Protocol& protocol) const override {
    return inner_->decision(problem, fingerprint, versions, protocol);
  }
  void compact() override { inner_->compact(); }

  std::vector<std::vector<Entry>> writes;
  std::function<void()> on_write;

 private:
  std::unique_ptr<Journal> inner_ = open_memory_journal();
};

/// Its device is lost in an admission.
class LosableExecutor final : public WithholdingExecutor {
 public:
  using WithholdingExecutor::WithholdingExecutor;
  void begin(Request request) override {
    if (std::holds_alternative<request::Admit>(request) && left-- == 0) fail(ErrorCode::device, "planted loss");
    WithholdingExecutor::begin(std::move(request));
  }

  int left = -1;
};

class JournalWrites : public testing::Test {
 protected:
  void run() {
    const auto problem = Problem::parse("gemm_a16w16 m=16 n=16 k=32 dtype=fp32");
    SilentObserver observer;
    Tuner(executor_, journal_, {}, clock_).run({{.problem = op_of(problem).normalise(problem, {})}}, observer, false);
  }
  /// The candidate that an entry announces; empty: none.
  static std::string started(const Entry& entry) {
    const auto* one = std::get_if<Started>(&entry);
    return one != nullptr ? one->candidate.name() : "";
  }
  static std::string verified(const Entry& entry) {
    const auto* one = std::get_if<Record>(&entry);
    return one != nullptr && one->stage == Stage::verify ? one->candidate.name() : "";
  }

  FakeDevice device_;
  LocalExecutor inner_{device_, registry()};
  LosableExecutor executor_{inner_};
  WatchedJournal journal_;
  TestClock clock_;
};

TEST_F(JournalWrites, WhatACandidateGaveIsWrittenWithTheAnnouncementOfTheNext) {
  run();
  std::string open;
  size_t num_together = 0, num_alone = 0;
  for (const auto& write : journal_.writes) {
    for (const Entry& entry : write) {
      if (!started(entry).empty()) {
        EXPECT_EQ(std::exchange(open, started(entry)), "") << "one at a time is announced";
      }
      if (!verified(entry).empty()) {
        EXPECT_EQ(verified(entry), std::exchange(open, ""));
      }
    }
    const bool has_result = !verified(write.front()).empty();
    num_together += has_result && !started(write.back()).empty();
    num_alone += has_result && started(write.back()).empty();
    if (!started(write.back()).empty()) continue;
    EXPECT_EQ(open, "") << "a step ends with all written";
  }
  EXPECT_GT(num_together, 10u);
  EXPECT_LT(num_alone, num_together) << "at the end of a batch";
}

TEST_F(JournalWrites, CandidatesAreAnnouncedWhileTheyAreAdmitted) {
  size_t num_announced = 0;
  journal_.on_write = [&] {
    if (started(journal_.writes.back().back()).empty()) return;
    EXPECT_TRUE(executor_.is_admitting()) << started(journal_.writes.back().back());
    ++num_announced;
  };
  run();
  EXPECT_GT(num_announced, 10u);
}

TEST_F(JournalWrites, ThatFailBesideAnAdmissionEndItAndTheRun) {
  journal_.on_write = [&] {
    if (executor_.is_admitting() && journal_.writes.size() == 3) fail(ErrorCode::io, "planted full disk");
  };
  EXPECT_THROW(run(), Error);
  EXPECT_FALSE(started(journal_.writes.back().back()).empty());
  EXPECT_FALSE(executor_.is_outstanding());
}

TEST_F(JournalWrites, WhatWasPutOffIsWrittenWhenTheDeviceIsLost) {
  executor_.left = 3;
  EXPECT_THROW(run(), Error);
  ASSERT_FALSE(journal_.writes.empty());
  size_t num_started = 0, num_verified = 0;
  for (const auto& write : journal_.writes) {
    for (const Entry& entry : write) {
      num_started += !started(entry).empty();
      num_verified += !verified(entry).empty();
    }
  }
  EXPECT_EQ(num_started, 4u);
  EXPECT_EQ(num_verified, 3u);
}

}  // namespace
}  // namespace attune
