// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "tuner/tuner.h"

namespace attune {

/// Passes all notifications of a run to several observers, in their order. The observers must outlive this.
class Observers final : public TuneObserver {
 public:
  explicit Observers(std::vector<TuneObserver*> all) : all_(std::move(all)) {}
  void progress(const Problem& problem, Phase phase, size_t num_alive) override {
    for (TuneObserver* one : all_) one->progress(problem, phase, num_alive);
  }
  void compiling(const Problem& problem, size_t num_candidates) override {
    for (TuneObserver* one : all_) one->compiling(problem, num_candidates);
  }
  void finished(const TuneResult& result) override {
    for (TuneObserver* one : all_) one->finished(result);
  }
  void device_ended(const TimeUse& time) override {
    for (TuneObserver* one : all_) one->device_ended(time);
  }
  void device_lost(const DeviceInfo& device, const std::string& why) override {
    for (TuneObserver* one : all_) one->device_lost(device, why);
  }
  void worker_lost(const DeviceInfo& device, const std::string& why) override {
    for (TuneObserver* one : all_) one->worker_lost(device, why);
  }
  void tick() override {
    for (TuneObserver* one : all_) one->tick();
  }

 private:
  std::vector<TuneObserver*> all_;
};

}  // namespace attune
