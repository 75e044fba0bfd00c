// SPDX-License-Identifier: MIT
#include "solvers/jit_cpu/dot_plan.h"

#include <omp.h>

#include <algorithm>
#include <cstring>

#include "solver/module/openmp_team.h"
#include "solvers/jit_cpu/workspace.h"

namespace attune::jit_cpu {
namespace {

class DotPlan final : public Plan {
 public:
  DotPlan(const GemmShape& shape, const DotSpec& spec, int threads, DotFunctions functions)
      : shape_(shape), spec_(spec), threads_(threads), functions_(std::move(functions)) {
    const int64_t step = spec.step();
    copies_ = shape.k % step != 0 || (shape.in != DType::fp32 && !spec.pairs);
    x_step_ = copies_ ? (shape.k + step - 1) / step * step : shape.k;
    WorkspaceLayout space;
    if (copies_) x_ = space.add<float>(shape.m * x_step_);
    if (shape.bias && shape.in != DType::fp32) bias_ = space.add<float>(shape.n + kPanel);
    traits_.workspace_bytes = space.bytes();
    // Each element is one chain of sums along K and one tree over its lanes, made by one thread whatever the team; no
    // part of it depends on M or on the row's place. Only one row at a time serves every M.
    traits_.states = spec.rows == 1 ? Requirement::batch_invariant : Requirement::deterministic;
    traits_.host_bytes = sizeof *this;  // The loader opens a kernel's file once for any number of plans.
  }

  const PlanTraits& traits() const noexcept override { return traits_; }

  void run(const Launch& launch) const override {
    const auto where = GemmOperands::of(shape_);
    Call call{static_cast<const std::byte*>(launch.operands[where.a]),
              static_cast<const std::byte*>(launch.operands[where.b]), nullptr,
              static_cast<std::byte*>(launch.operands[where.c])};
    // x has at most a few rows: one thread widens it in less time than a barrier takes.
    if (copies_) {
      auto* copy = at<std::byte>(launch.workspace, x_);
      if (spec_.pairs)
        pad(call.x, copy);
      else
        functions_.copy_rows(call.x, shape_.k, shape_.m, shape_.k, reinterpret_cast<float*>(copy), x_step_);
      call.x = copy;
    }
    if (shape_.bias) {
      call.bias = static_cast<const float*>(launch.operands[where.bias]);
      if (shape_.in != DType::fp32) {
        auto* wide = at<float>(launch.workspace, bias_);
        functions_.copy_rows(launch.operands[where.bias], 0, 1, shape_.n, wide, 0);
        call.bias = wide;
      }
    }
    if (threads_ > 1) {
      if (const OpenmpTeam team(threads_); team.size() > 1) {
#pragma omp parallel num_threads(threads_)
        multiply(call, omp_get_thread_num(), omp_get_num_threads());
        return;
      }
    }
    multiply(call, 0, 1);
  }

 private:
  struct Call {
    const std::byte *x, *w;
    const float* bias;
    std::byte* c;
  };

  int64_t x_bytes() const { return spec_.pairs ? 2 : 4; }

  void pad(const std::byte* from, std::byte* to) const {
    const auto row = static_cast<size_t>(shape_.k * x_bytes()), padded = static_cast<size_t>(x_step_ * x_bytes());
    for (int64_t m = 0; m < shape_.m; ++m, from += row, to += padded) {
      std::memcpy(to, from, row);
      std::memset(to + row, 0, padded - row);
    }
  }

  /// Tiles at an edge are moved inwards: they recompute some elements and write only those that no other tile writes.
  void multiply(const Call& call, int64_t thread, int64_t threads) const {
    const int64_t rows = spec_.rows, columns = spec_.columns;
    const int64_t tiles = (shape_.n + columns - 1) / columns;
    const int64_t in_bytes = bits(shape_.in) / 8;
    const int64_t out_bytes = bits(shape_.out) / 8;
    DotArguments arguments = {};
    arguments.x_step = x_step_;
    arguments.w_step = shape_.k;
    arguments.k = shape_.k;
    arguments.out.row_step = shape_.n;
    arguments.out.column_step = 1;
    arguments.out.row_end = rows;
    arguments.out.column_end = columns;
    for (int64_t tile = tiles * thread / threads; tile < tiles * (thread + 1) / threads; ++tile) {
      const int64_t n = std::min(tile * columns, shape_.n - columns);
      arguments.w = call.w + n * shape_.k * in_bytes;
      arguments.out.column_begin = tile * columns - n;
      arguments.out.bias = call.bias != nullptr ? call.bias + n : nullptr;
      for (int64_t at_m = 0; at_m < shape_.m; at_m += rows) {
        const int64_t m = std::min(at_m, shape_.m - rows);
        arguments.x = call.x + m * x_step_ * x_bytes();
        arguments.out.row_begin = at_m - m;
        arguments.out.c = call.c + (m * shape_.n + n) * out_bytes;
        functions_.dot(&arguments);
      }
    }
  }

  GemmShape shape_;
  DotSpec spec_;
  int threads_;
  DotFunctions functions_;
  PlanTraits traits_;
  bool copies_ = false;
  int64_t x_step_ = 0;
  uint64_t x_ = 0, bias_ = 0;  ///< Offsets in the workspace.
};

}  // namespace

DotFunctions::DotFunctions(const std::filesystem::path& dot_file, const std::filesystem::path& pack_file)
    : dot_library(dot_file),
      pack_library(pack_file),
      dot(dot_library.function<DotKernel>("dot")),
      copy_rows(pack_library.function<CopyRows>("copy_rows")) {}

std::unique_ptr<Plan> make_dot_plan(const GemmShape& shape, const DotSpec& spec, int threads, DotFunctions functions) {
  return std::make_unique<DotPlan>(shape, spec, threads, std::move(functions));
}

}  // namespace attune::jit_cpu
