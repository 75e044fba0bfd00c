// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attune/plan.h"
#include "core/outcome.h"
#include "measure/comparison/compare.h"
#include "measure/comparison/device_comparison.h"
#include "measure/operands/guarded_buffer.h"
#include "measure/operands/packed_weights.h"
#include "measure/operands/reference_cache.h"

namespace attune {

/// Result of one step of a candidate; evaluate() makes its Outcome.
struct Finding {
  Status status = Status::ok;
  std::string detail;  ///< Fault and place; empty when ok.
  Errors errors;
  /// True if it wrote to memory that was not its own; then this process cannot be trusted.
  bool corrupted = false;
};

/// Runs one launch to its end. Throws any exception of the plan, or Error{timeout}.
using RunLaunch = std::function<void(const Launch&)>;

struct VerifyOptions {
  bool twice = false;       ///< Two runs on the same inputs must agree bit by bit, unless declared non-deterministic.
  double err_ratio = 0.05;  ///< Mismatches must stay strictly below this fraction; never the only criterion.
  PackedWeights* weights = nullptr;  ///< Used instead of the packed operands; null: the weights are plain.
};

/// Compares a candidate's results with the reference, on poisoned outputs and workspace between canaries. Each run is
/// checked, in this order, for: an overwritten guard band; a changed input; a zeroed prefix that is not zero
/// afterwards; an element never written; a value computed from unwritten memory; a NaN or Inf that the reference has
/// not or lacks; an error above the op's bounds. The integers hold Inf and NaN (Op::special_values()).
class Verification {
 public:
  Verification(Device& device, const Op& op, const Problem& problem, ReferenceCache& references);
  /// Prepares the workspace of the plan to verify next, in the memory of the previous one where that fits. Optional:
  /// verify() does it if needed. Throws Error{device}.
  void reserve(const PlanTraits& traits);
  /// Runs once cold on normal data (with `twice`: and once more), then once on integers. The errors are the worst of
  /// the runs. Throws any exception of `run`.
  Finding verify(const PlanTraits& traits, const RunLaunch& run, const VerifyOptions& options);
  /// Judges an output in the caller's memory by the reference of its inputs, with the rules of verify(). The output was
  /// poisoned before the launch. Elements that the reference does not cover need only be written.
  Finding judge(Buffer output, const TestData& data, double err_ratio) const;
  /// Number of launches in the last verify().
  uint64_t launches() const noexcept { return launches_; }

 private:
  Finding run_once(const PlanTraits& traits, const RunLaunch& run, Distribution distribution, double err_ratio);
  void refill(Distribution distribution);
  Finding run_again(const Finding& first, const PlanTraits& traits, const RunLaunch& run, double err_ratio);
  void poison_memory(const PlanTraits& traits);
  std::string corrupted_memory(const PlanTraits& traits, Distribution distribution);
  OutputComparison compare_output(Buffer output, const TestData& data) const;
  std::string unwritten(Buffer output, const TestData& data, const OutputComparison& comparison) const;
  std::string place_name(int64_t row, int64_t column) const;

  Device& device_;
  ReferenceCache& references_;
  Problem problem_;
  std::vector<TensorSpec> specs_;
  Tolerance tolerance_;
  int64_t columns_ = 1;
  std::unique_ptr<DeviceComparison> on_device_;  ///< Null: outputs are compared on the host.
  GuardedBuffer output_;
  std::unique_ptr<GuardedBuffer> second_output_;   ///< Output of the second of two runs; made for the first candidate.
  const GuardedBuffer* used_output_ = nullptr;     ///< Output of the run that is verified.
  std::vector<Hash128> output_hashes_;             ///< Hashes of both outputs after the second of two runs.
  std::unique_ptr<GuardedBuffer> workspace_;       ///< Workspace of the next plan, or of the last one.
  const GuardedBuffer* used_workspace_ = nullptr;  ///< Workspace of the plan being verified; null if it has none.
  PackedWeights* used_weights_ = nullptr;          ///< Weights of the plan being verified; null: plain.
  uint64_t launches_ = 0;
};

}  // namespace attune
