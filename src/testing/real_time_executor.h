// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "device/fake/fake_device.h"
#include "measure/executor.h"
#include "process/poll_set.h"

namespace attune {

/// Makes the launches of a fake device take the time that its clock says, sleeping: does each request at once on an
/// executor of this process, and answers when the time has passed.
class RealTimeExecutor final : public Executor {
 public:
  using Clock = std::chrono::steady_clock;
  /// When the device worked; the end is in the future until the answer.
  struct Work {
    Clock::time_point begin, end;
    bool is_admission = false;
  };

  /// Both outlive it.
  RealTimeExecutor(Executor& inner, FakeDevice& device) : inner_(inner), device_(device) {}
  const std::vector<Work>& work() const noexcept { return work_; }

  const DeviceInfo& device() const override { return inner_.device(); }
  void begin(Request request) override {
    const auto began = Clock::now();
    const double before_us = device_.now_us();
    const bool is_admission = std::holds_alternative<request::Admit>(request);
    inner_.begin(std::move(request));
    answer_ = inner_.take();
    const std::chrono::duration<double, std::micro> taken(device_.now_us() - before_us);
    work_.push_back({began, began + std::chrono::duration_cast<Clock::duration>(taken), is_admission});
    poll_set_.wake_in(work_.back().end - Clock::now());
  }
  int descriptor() const override { return poll_set_.descriptor(); }
  std::optional<Answer> take() override {
    if (!answer_ || Clock::now() < work_.back().end) return std::nullopt;
    poll_set_.wake_in(std::nullopt);
    return std::exchange(answer_, std::nullopt);
  }
  void close(ProblemId id) override { inner_.close(id); }
  void drop(Slot slot) override { inner_.drop(slot); }
  void abort() override {
    inner_.abort();
    if (answer_) poll_set_.wake_in(std::chrono::nanoseconds(0));
    if (answer_) work_.back().end = Clock::now();
  }

 private:
  Executor& inner_;
  FakeDevice& device_;
  PollSet poll_set_;
  std::optional<Answer> answer_;
  std::vector<Work> work_;
};

}  // namespace attune
