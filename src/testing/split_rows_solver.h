// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ops/gemm/gemm_shape.h"
#include "ops/op.h"
#include "ops/packed_weights.h"
#include "solver/registry.h"
#include "solver/static/static_space_backend.h"
#include "tensor/convert.h"

namespace attune {

/// A composite solver of products for tests: the upper and the lower half of the rows of x are two parts, each computed
/// by a candidate of another solver. Its own parameter says which half is computed first.
class SplitRowsSolver final : public Solver, public StaticSpace {
 public:
  /// `first`: what the space names for each part until it is tuned.
  explicit SplitRowsSolver(Candidate first) : first_(std::move(first)) {}

  std::string_view id() const override { return "split_rows.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "two halves of the rows, for tests"; }
  Support supports(const Problem& problem, const DeviceInfo&) const override {
    return problem.integer("m") >= 2 && problem.integer("m") % 2 == 0 && is_plain(problem)
               ? Support()
               : Support::no("takes an even number of rows of plain operands");
  }
  std::vector<Problem> parts(const Problem& problem, const DeviceInfo& device) const override {
    const Problem half = op_of(problem).normalise(problem.with("m", std::to_string(problem.integer("m") / 2)), device);
    return {half, half};
  }
  const StaticSpace* static_space() const override { return this; }
  SearchSpace space(const Problem&, const DeviceInfo&) const override {
    const Value first = first_.nested_name();
    return SearchSpace::product({{.name = "lower", .values = {first}, .part = 1},
                                 {.name = "order", .values = {std::string("down"), std::string("up")}},
                                 {.name = "upper", .values = {first}, .part = 0}},
                                {});
  }
  Config default_config(const Problem& problem, const DeviceInfo& device) const override {
    return space(problem, device).at(0);
  }
  std::unique_ptr<Backend> open(Device& device) const override {
    return std::make_unique<SplitBackend>(*this, device.info());
  }

 private:
  static bool is_plain(const Problem& problem) {
    if (problem.op() != "gemm_a16w16" || has_packed_weights(problem)) return false;
    const auto shape = GemmShape::of(problem);
    return !shape.bias && shape.epilogue.is_none();
  }

  class SplitPlan final : public Plan {
   public:
    SplitPlan(const GemmShape& shape, std::unique_ptr<Plan> upper, std::unique_ptr<Plan> lower, bool is_upper_first)
        : upper_(std::move(upper)), lower_(std::move(lower)), is_upper_first_(is_upper_first) {
      a_bytes_ = static_cast<size_t>(shape.m / 2 * shape.k) * static_cast<size_t>(bits(shape.in)) / 8;
      c_bytes_ = static_cast<size_t>(shape.m / 2 * shape.n) * static_cast<size_t>(bits(shape.out)) / 8;
      traits_.reentrant = false;
      traits_.workspace_bytes = std::max(upper_->traits().workspace_bytes, lower_->traits().workspace_bytes);
    }
    const PlanTraits& traits() const noexcept override { return traits_; }
    void run(const Launch& launch) const override {
      const auto half = [&](const Plan& plan, size_t number) {
        void* operands[] = {static_cast<std::byte*>(launch.operands[0]) + number * a_bytes_, launch.operands[1],
                            static_cast<std::byte*>(launch.operands[2]) + number * c_bytes_};
        plan.run({operands, launch.workspace, launch.stream});
      };
      if (is_upper_first_) half(*upper_, 0);
      half(*lower_, 1);
      if (!is_upper_first_) half(*upper_, 0);
    }

   private:
    std::unique_ptr<Plan> upper_, lower_;
    bool is_upper_first_;
    size_t a_bytes_ = 0, c_bytes_ = 0;
    PlanTraits traits_;
  };

  class SplitBackend final : public StaticSpaceBackend {
   public:
    SplitBackend(const SplitRowsSolver& solver, const DeviceInfo& device)
        : StaticSpaceBackend(solver, device), solver_(solver) {}
    Versions versions() const override { return {{"split_rows.gemm", "1"}}; }
    std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config,
                                  const PrepareContext& context) override {
      const auto parts = solver_.parts(problem, device());
      auto upper = context.prepare_part(parts[0], Candidate::parse_nested(config.text("upper")));
      auto lower = context.prepare_part(parts[1], Candidate::parse_nested(config.text("lower")));
      return std::make_unique<SplitPlan>(GemmShape::of(problem), std::move(upper), std::move(lower),
                                         config.text("order") == "down");
    }

   private:
    const SplitRowsSolver& solver_;
  };

  Candidate first_;
};

}  // namespace attune
