// SPDX-License-Identifier: MIT
// A module in the place of BLIS, with a slow right kernel of gemm_a16w16 (fp32), which is its default config, a fast
// right one, and a fast one with the fault that ATTUNE_PLANTED_FAULT names. All are right when they are verified first.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "solver/module.h"
#include "solver/static/static_space_backend.h"

namespace attune::toys {
namespace {

struct Shape {
  int64_t m, n, k;
};

/// Reads memory beside what follows the call that left it.
void read_for_a_while() {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(60);
  std::vector<uint64_t> memory(1 << 20, 1);
  static std::atomic<uint64_t> sink;
  while (std::chrono::steady_clock::now() < until) {
    uint64_t sum = 0;
    for (const uint64_t one : memory) sum += one;
    sink += sum;
  }
}

class PlantedPlan final : public Plan {
 public:
  PlantedPlan(const Shape& shape, std::string kind) : shape_(shape), kind_(std::move(kind)) {
    traits_.host_bytes = sizeof *this;
    traits_.reentrant = false;
  }
  const PlanTraits& traits() const noexcept override { return traits_; }
  void run(const Launch& launch) const override {
    ++calls_;
    const bool is_after_another = last_ != this;
    last_ = this;
    const auto* a = static_cast<const float*>(launch.operands[0]);
    const auto* b = static_cast<const float*>(launch.operands[1]);
    auto* c = static_cast<float*>(launch.operands[2]);
    if (kind_ == "keyed") {
      auto& kept = kept_[b];
      if (kept.empty()) kept.assign(b, b + shape_.n * shape_.k);
      b = kept.data();
    }
    if (kind_ == "returns" && calls_ >= 13) return;
    const bool is_half = (kind_ == "late" && calls_ >= 13) || (kind_ == "nth" && calls_ % 16 == 0) ||
                         (kind_ == "after" && is_after_another && calls_ >= 13);
    for (int i = 0; i < (kind_ == "slow" ? 3 : 1); ++i) multiply(a, b, c, is_half ? shape_.n / 2 : shape_.n);
    if (kind_ != "threads") return;
    for (int i = 0; i < 2; ++i) std::thread(read_for_a_while).detach();
  }

 private:
  void multiply(const float* a, const float* b, float* c, int64_t columns) const {
    for (int64_t i = 0; i < shape_.m; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        float sums[16] = {};
        for (int64_t l = 0; l + 16 <= shape_.k; l += 16) {
          for (int64_t x = 0; x < 16; ++x) sums[x] += a[i * shape_.k + l + x] * b[j * shape_.k + l + x];
        }
        float sum = 0;
        for (const float one : sums) sum += one;
        c[i * shape_.n + j] = sum;
      }
    }
  }
  Shape shape_;
  std::string kind_;
  PlanTraits traits_;
  mutable uint64_t calls_ = 0;
  mutable std::map<const float*, std::vector<float>> kept_;
  inline static const PlantedPlan* last_ = nullptr;
};

class PlantedBackend final : public StaticSpaceBackend {
 public:
  using StaticSpaceBackend::StaticSpaceBackend;
  Versions versions() const override { return {{"blis.gemm", "1"}}; }
  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext&) override {
    const Shape shape{problem.integer("m"), problem.integer("n"), problem.integer("k")};
    return std::make_unique<PlantedPlan>(shape, config.text("kind"));
  }
};

class PlantedSolver final : public Solver, public StaticSpace {
 public:
  std::string_view id() const override { return "blis.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "kernels with planted faults"; }
  const StaticSpace* static_space() const override { return this; }
  Support supports(const Problem& problem, const DeviceInfo& device) const override {
    const bool is_plain = problem.op() == "gemm_a16w16" && problem.dtype("dtype") == DType::fp32 &&
                          problem.integer_or("bias", 0) == 0 && problem.integer("k") % 16 == 0 && device.kind == "host";
    return is_plain ? Support() : Support::no("computes plain products of fp32 on a host");
  }
  SearchSpace space(const Problem&, const DeviceInfo&) const override {
    const char* fault = std::getenv("ATTUNE_PLANTED_FAULT");  // NOLINT(concurrency-mt-unsafe)
    return SearchSpace::product(
        {{.name = "kind",
          .values = {std::string("slow"), std::string("fast"), std::string(fault != nullptr ? fault : "none")}}},
        {});
  }
  Config default_config(const Problem&, const DeviceInfo&) const override { return Config::parse("kind=slow"); }
  std::unique_ptr<Backend> open(Device& device) const override {
    return std::make_unique<PlantedBackend>(*this, device.info());
  }
};

}  // namespace
}  // namespace attune::toys

ATTUNE_SOLVER_MODULE(attune::toys::PlantedSolver)
