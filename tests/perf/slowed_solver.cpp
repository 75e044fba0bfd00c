// SPDX-License-Identifier: MIT
#include "slowed_solver.h"

#include <chrono>
#include <cmath>
#include <cstdint>

namespace attune::experiments {
namespace {

class SlowedPlan final : public Plan {
 public:
  SlowedPlan(std::unique_ptr<Plan> inner, double slow_by, bool is_host)
      : inner_(std::move(inner)), slow_by_(slow_by), is_host_(is_host) {}
  const PlanTraits& traits() const noexcept override { return inner_->traits(); }
  void run(const Launch& launch) const override {
    if (slow_by_ <= 0) return inner_->run(launch);
    if (!is_host_) return run_more(launch);
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    inner_->run(launch);
    const auto took = Clock::now() - start;
    const auto end = start + std::chrono::duration_cast<Clock::duration>(took * (1 + slow_by_));
    while (Clock::now() < end) {
    }
  }

 private:
  /// What a stream runs takes no time of the caller's: one launch of so many runs the kernel twice.
  void run_more(const Launch& launch) const {
    inner_->run(launch);
    if (++num_launches_ % std::lround(1 / slow_by_) == 0) inner_->run(launch);
  }

  std::unique_ptr<Plan> inner_;
  double slow_by_;
  bool is_host_;
  mutable int64_t num_launches_ = 0;
};

class SlowedBackend final : public Backend {
 public:
  SlowedBackend(std::string id, std::unique_ptr<Backend> inner, double slow_by, bool is_host)
      : id_(std::move(id)), inner_(std::move(inner)), slow_by_(slow_by), is_host_(is_host) {}
  Versions versions() const override { return {{id_, "1"}}; }
  SearchSpace space(const Problem& problem) override { return inner_->space(problem); }
  Config default_config(const Problem& problem) override { return inner_->default_config(problem); }
  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext& context) override {
    return std::make_unique<SlowedPlan>(inner_->prepare(problem, config, context), slow_by_, is_host_);
  }

 private:
  std::string id_;
  std::unique_ptr<Backend> inner_;
  double slow_by_;
  bool is_host_;
};

class SlowedSolver final : public Solver {
 public:
  SlowedSolver(std::string id, const Solver& inner, double slow_by)
      : id_(std::move(id)), inner_(inner), slow_by_(slow_by) {}
  std::string_view id() const override { return id_; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "another solver, slowed by a known fraction"; }
  std::string_view thread_pool() const override { return inner_.thread_pool(); }
  Support supports(const Problem& problem, const DeviceInfo& device) const override {
    return inner_.supports(problem, device);
  }
  std::unique_ptr<Backend> open(Device& device) const override {
    return std::make_unique<SlowedBackend>(id_, inner_.open(device), slow_by_, device.threads() != nullptr);
  }

 private:
  std::string id_;
  const Solver& inner_;
  double slow_by_;
};

}  // namespace

std::unique_ptr<Solver> make_slowed(std::string id, const Solver& inner, double slow_by) {
  return std::make_unique<SlowedSolver>(std::move(id), inner, slow_by);
}

}  // namespace attune::experiments
