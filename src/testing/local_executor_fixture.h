// SPDX-License-Identifier: MIT
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/fake/fake_device.h"
#include "measure/blocking_calls.h"
#include "measure/local_executor.h"
#include "testing/planted_gemm.h"

namespace attune {

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
      for (auto fault = static_cast<size_t>(Fault::late); fault < kFaultNames.size(); ++fault)
        rows.push_back(Config::parse(fmt::format("fault={};us=5", kFaultNames[fault])));
      return SearchSpace::listed(std::move(rows));
    }
    Config default_config(const Problem&) override { return Config::parse("fault=none;us=5"); }
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
    executor_.reset();  // It uses the device.
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

}  // namespace attune
