// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/plan.h"
#include "base/error.h"
#include "device/fake/fake_device.h"
#include "device/fake/fake_memory.h"
#include "ops/gemm/gemm_op.h"
#include "tensor/convert.h"

namespace attune {

/// Faults of a planted kernel. For tests.
enum class Fault : uint8_t {
  none,
  tile_dropped,         // does not write a 16×16 tile
  tile_zeroed,          // writes zeros to it
  rows_permuted,        // swaps two rows
  k_tail_ignored,       // skips the last K % 16 terms
  one_term_twice,       // parts of a split K overlap by one
  accumulates,          // C += A·B on uninitialised memory
  writes_past_end,      // one element
  writes_before_start,  // one element
  nan_in_output,
  stale,              // does not run
  stale_after_first,  // runs only once and assumes that nothing changes
  reads_past_end,     // one element after the end of A
  narrow_sum,         // accumulates in bf16
  spreads_nan,        // adds the first term of the next row of A, times zero
  saturates,          // writes the largest finite number in place of Inf
  changes_input,
  overruns_workspace,
  leaves_prefix_dirty,
  unsteady,  // the order of summation changes from run to run
  throws,
  // Right when they are verified first, and wrong afterwards:
  late,              // skips the last column from its 30th run on
  every_16th,        // does so in every 16th run
  keyed_by_address,  // keeps the weights that it first read at an address
  after_another,     // skips the last column when the run before was another plan's, from its 10th run on
  returns_late,      // does not run any more from its 10th run on
};
inline constexpr std::array<std::string_view, 26> kFaultNames = {"none",
                                                                 "tile_dropped",
                                                                 "tile_zeroed",
                                                                 "rows_permuted",
                                                                 "k_tail_ignored",
                                                                 "one_term_twice",
                                                                 "accumulates",
                                                                 "writes_past_end",
                                                                 "writes_before_start",
                                                                 "nan_in_output",
                                                                 "stale",
                                                                 "stale_after_first",
                                                                 "reads_past_end",
                                                                 "narrow_sum",
                                                                 "spreads_nan",
                                                                 "saturates",
                                                                 "changes_input",
                                                                 "overruns_workspace",
                                                                 "leaves_prefix_dirty",
                                                                 "unsteady",
                                                                 "throws",
                                                                 "late",
                                                                 "every_16th",
                                                                 "keyed_by_address",
                                                                 "after_another",
                                                                 "returns_late"};

/// A naive GEMM with a planted fault, for the host and the fake device; needs M > 4 and N > 32. Calls `on_run` in every
/// run; a fake device advances its time there.
class PlantedGemm final : public Plan {
 public:
  explicit PlantedGemm(const GemmShape& shape, Fault fault, std::function<void()> on_run = {})
      : shape_(shape), fault_(fault), on_run_(std::move(on_run)) {
    if (fault == Fault::overruns_workspace || fault == Fault::leaves_prefix_dirty) traits_.workspace_bytes = 100;
    if (fault == Fault::leaves_prefix_dirty) traits_.zeroed_bytes = 16;
  }
  PlanTraits& declare() noexcept { return traits_; }
  const PlanTraits& traits() const noexcept override { return traits_; }

  void run(const Launch& enqueued) const override {
    const std::vector<void*> operands = FakeMemory::reach(enqueued.operands);
    const Launch launch{operands, FakeMemory::reach(enqueued.workspace), enqueued.stream};
    if (on_run_) on_run_();
    if (fault_ == Fault::throws) fail(ErrorCode::device, "the planted kernel refuses to start");
    ++runs_;
    const bool is_after_another = std::exchange(last_, this) != this;
    const bool skips_column = (fault_ == Fault::late && runs_ >= 30) ||
                              (fault_ == Fault::every_16th && runs_ % 16 == 0) ||
                              (fault_ == Fault::after_another && is_after_another && runs_ >= 10);
    if (fault_ == Fault::returns_late && runs_ >= 10) return;
    if (fault_ == Fault::keyed_by_address) keep_weights(launch);
    weights_ = weights(launch);
    if (fault_ == Fault::stale || (fault_ == Fault::stale_after_first && runs_ > 1)) return;
    auto* c = static_cast<std::byte*>(launch.operands[GemmOperands::of(shape_).c]);
    for (int64_t i = 0; i < shape_.m; ++i) {
      for (int64_t j = 0; j < shape_.n; ++j) {
        if (fault_ == Fault::tile_dropped && in_tile(i, j)) continue;
        if (skips_column && j == shape_.n - 1) {
          store(c, place(i, j), 0);
          continue;
        }
        store(c, place(i, j),
              value(launch, i, j) + (fault_ == Fault::accumulates ? load(shape_.out, c, place(i, j)) : 0.0f));
      }
    }
    corrupt(launch, c);
  }

 private:
  const void* weights(const Launch& launch) const {
    const void* given = launch.operands[GemmOperands::of(shape_).b];
    const auto kept = kept_.find(given);
    return kept == kept_.end() ? given : kept->second.data();
  }
  void keep_weights(const Launch& launch) const {
    const auto* given = static_cast<const std::byte*>(launch.operands[GemmOperands::of(shape_).b]);
    kept_.try_emplace(given, given, given + shape_.n * shape_.k * bits(shape_.in) / 8);
  }
  bool in_tile(int64_t i, int64_t j) const { return i < 16 && j >= 16 && j < 32; }
  int64_t place(int64_t i, int64_t j) const {
    if (fault_ == Fault::rows_permuted && (i == 2 || i == 3)) i = 5 - i;
    return i * shape_.n + j;
  }
  static float load(DType dtype, const void* tensor, int64_t index) {
    float value = 0;
    to_float(dtype, static_cast<const std::byte*>(tensor) + index * bits(dtype) / 8, std::span(&value, 1));
    return value;
  }
  void store(std::byte* c, int64_t index, float value) const {
    from_float(shape_.out, std::span(&value, 1), c + index * bits(shape_.out) / 8);
  }

  float value(const Launch& launch, int64_t i, int64_t j) const {
    if (fault_ == Fault::tile_zeroed && in_tile(i, j)) return 0;
    if (fault_ == Fault::nan_in_output && i == 1 && j == 1) return std::numeric_limits<float>::quiet_NaN();
    const auto where = GemmOperands::of(shape_);
    const int64_t begin = fault_ == Fault::one_term_twice ? -1 : 0;
    const int64_t end = fault_ == Fault::k_tail_ignored ? shape_.k / 16 * 16 : shape_.k;
    const bool backwards = fault_ == Fault::unsteady && runs_ % 2 == 0;
    float sum = shape_.bias ? load(shape_.in, launch.operands[where.bias], j) : 0.0f;
    for (int64_t step = begin; step < end; ++step) {
      const int64_t k = step < 0 ? shape_.k / 2 : backwards ? end - 1 - step : step;
      sum += load(shape_.in, launch.operands[where.a], i * shape_.k + k) * load(shape_.in, weights_, j * shape_.k + k);
      if (fault_ == Fault::narrow_sum) sum = from_bf16(to_bf16(sum));
    }
    if (fault_ == Fault::reads_past_end && i == shape_.m - 1)
      sum += load(shape_.in, launch.operands[where.a], shape_.m * shape_.k);
    if (fault_ == Fault::spreads_nan && i + 1 < shape_.m)
      sum += 0 * load(shape_.in, launch.operands[where.a], (i + 1) * shape_.k);
    if (fault_ == Fault::saturates && std::isinf(sum))
      sum = std::copysign(shape_.out == DType::fp16 ? 65504.0f : 3e38f, sum);
    return sum;
  }

  void corrupt(const Launch& launch, std::byte* c) const {
    if (fault_ == Fault::writes_past_end) store(c, shape_.m * shape_.n, 0);
    if (fault_ == Fault::writes_before_start) store(c, -1, 0);
    if (fault_ == Fault::changes_input) static_cast<std::byte*>(launch.operands[1])[5] ^= std::byte{1};
    if (fault_ == Fault::overruns_workspace) static_cast<std::byte*>(launch.workspace)[100] = std::byte{0};
    if (fault_ == Fault::leaves_prefix_dirty) static_cast<std::byte*>(launch.workspace)[15] = std::byte{1};
  }

  GemmShape shape_;
  Fault fault_;
  std::function<void()> on_run_;
  PlanTraits traits_;
  mutable uint64_t runs_ = 0;
  mutable std::map<const void*, std::vector<std::byte>> kept_;
  mutable const void* weights_ = nullptr;            // Of this run.
  inline static const PlantedGemm* last_ = nullptr;  // Compared, not followed.
};

/// A correct GEMM of the fake device that is enqueued, so that it can be captured. Calls `on_run` with the operands of
/// each launch when it runs.
class EnqueuedGemm final : public Plan {
 public:
  using OnRun = std::function<void(std::span<void* const> operands)>;
  /// `capturable`: whether it states that it can be captured.
  EnqueuedGemm(const GemmShape& shape, double us, bool capturable, FakeDevice& device, OnRun on_run = {})
      : gemm_(shape, Fault::none), us_(us), device_(device), on_run_(std::move(on_run)) {
    traits_.capturable = capturable;
  }
  const PlanTraits& traits() const noexcept override { return traits_; }
  void run(const Launch& launch) const override {
    device_.enqueue(launch.stream, us_,
                    [this, operands = std::vector<void*>(launch.operands.begin(), launch.operands.end())] {
                      if (on_run_) on_run_(operands);
                      gemm_.run({.operands = operands});
                    });
  }

 private:
  PlantedGemm gemm_;
  double us_;
  FakeDevice& device_;
  OnRun on_run_;
  PlanTraits traits_;
};

}  // namespace attune
