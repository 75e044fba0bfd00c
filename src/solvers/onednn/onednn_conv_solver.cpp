// SPDX-License-Identifier: MIT
// oneDNN's convolutions: one candidate for each implementation, order of the tensors inside the call, and thread count.
// The time of a candidate includes its reorders. Compiled once for each version of the library (onednn_library.h).
#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "ops/conv/conv_shape.h"
#include "ops/gemm/gemm_shape.h"
#include "solver/host_gemm.h"
#include "solver/module/openmp_team.h"
#include "solver/own_library.h"
#include "solver/thread_counts.h"
#include "solvers/onednn/onednn_conv_functions.h"
#include "solvers/onednn/onednn_functions.h"
#include "solvers/onednn/onednn_library.h"
#include "solvers/onednn/onednn_solvers.h"

namespace attune {
namespace {

constexpr InnerOrder kOrders[] = {InnerOrder::any, InnerOrder::nchw, InnerOrder::nhwc};

dnnl::memory::data_type conv_type_of(DType dtype) {
  using type = dnnl::memory::data_type;
  return dtype == DType::fp32 ? type::f32 : dtype == DType::bf16 ? type::bf16 : type::f16;
}

ConvDescription description_of(const ConvShape& shape) { return {shape, conv_type_of(shape.dtype)}; }

class OnednnConvPlan final : public Plan {
 public:
  /// `alone`: for one thread, used where the team of `threads` cannot be had; nothing if `threads` is 1.
  OnednnConvPlan(PreparedConv chosen, std::optional<PreparedConv> alone, const dnnl::engine& engine, int threads)
      : threads_(threads), stream_(engine), chosen_(std::move(chosen)), alone_(std::move(alone)) {
    traits_.workspace_bytes = std::max(chosen_.workspace_bytes(), alone_ ? alone_->workspace_bytes() : 0);
    traits_.reentrant = false;
    traits_.host_bytes = sizeof *this + chosen_.host_bytes() + (alone_ ? alone_->host_bytes() : 0);
  }
  const PlanTraits& traits() const noexcept override { return traits_; }

  void run(const Launch& launch) const override {
    const OpenmpTeam team(threads_);
    const PreparedConv& used = team.size() == threads_ ? chosen_ : *alone_;
    guarded(ErrorCode::device, [&] { used.execute(stream_, launch.operands, launch.workspace); });
  }

 private:
  int threads_;
  mutable dnnl::stream stream_;
  PreparedConv chosen_;
  std::optional<PreparedConv> alone_;
  PlanTraits traits_;
};

class OnednnConvBackend final : public Backend {
 public:
  explicit OnednnConvBackend(const DeviceInfo& device) : device_(device), engine_(dnnl::engine::kind::cpu, 0) {
    require_library(reinterpret_cast<const void*>(&dnnl_primitive_execute), "dnnl_primitive_execute", onednn_file());
  }

  Versions versions() const override { return onednn_versions(onednn_library().conv_id, OnednnConvSolver().version()); }

  /// A list of rows: which implementations there are depends on the order and the threads.
  SearchSpace space(const Problem& problem) override {
    std::vector<Config> rows;
    for (const InnerOrder order : kOrders) {
      for (const Value& threads : thread_counts(device_.num_units)) {
        for (const std::string& name : names(problem, order, std::get<int64_t>(threads)))
          rows.push_back(config_of(order, name, threads));
      }
    }
    if (rows.empty()) fail_without_any_conv(problem);
    return SearchSpace::listed(std::move(rows));
  }

  /// The implementation of an application that lets oneDNN choose all orders.
  Config default_config(const Problem& problem) override {
    const auto first = first_of_each_order(problem);
    if (first.empty()) fail_without_any_conv(problem);
    return first.front();
  }

  /// The first implementations of plain and of NHWC tensors.
  std::vector<Config> recommended(const Problem& problem) override {
    auto first = first_of_each_order(problem);
    if (!first.empty()) first.erase(first.begin());
    return first;
  }

  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext&) override {
    const int threads = thread_count(config, device_);
    const auto shape = ConvShape::of(problem);
    const InnerOrder order = order_of(config);
    const std::string& wanted = config.text("impl");
    auto chosen =
        prepared(shape, order, threads, [&](const std::string& name) { return name == wanted && !is_reference(name); });
    if (!chosen)
      fail(ErrorCode::unavailable,
           "oneDNN does not offer the implementation for order={} with this number of threads: '{}'",
           config.text("order"), wanted);
    std::optional<PreparedConv> alone;
    if (threads > 1) {
      alone = prepared(shape, order, 1, [&](const std::string& name) { return name == wanted; });
      if (!alone) alone = prepared(shape, order, 1, [](const std::string& name) { return !is_reference(name); });
      if (!alone) fail(ErrorCode::unavailable, "oneDNN has no implementation for one thread beside '{}'", wanted);
    }
    return std::make_unique<OnednnConvPlan>(*std::move(chosen), std::move(alone), engine_, threads);
  }

  std::vector<EntryPoint> entry_points() const override {
    return {{"dnnl_primitive_execute", library_of(reinterpret_cast<const void*>(&dnnl_primitive_execute))}};
  }

 private:
  [[noreturn]] static void fail_without_any_conv(const Problem& problem) {
    fail(ErrorCode::unavailable, "oneDNN offers nothing but its reference here for the convolution: {}", problem.key());
  }

  static Config config_of(InnerOrder order, const std::string& implementation, const Value& threads) {
    return Config({{"order", std::string(kInnerOrders[static_cast<size_t>(order)])},
                   {"impl", implementation},
                   {"threads", threads}});
  }

  static InnerOrder order_of(const Config& config) {
    const std::string& order = config.text("order");
    const auto* const found = std::find(std::begin(kInnerOrders), std::end(kInnerOrders), order);
    if (found == std::end(kInnerOrders))
      fail(ErrorCode::unavailable, "the order must be any, nchw or nhwc, got '{}'", order);
    return static_cast<InnerOrder>(found - std::begin(kInnerOrders));
  }

  /// The first implementation of each order that has one, for all cores.
  std::vector<Config> first_of_each_order(const Problem& problem) const {
    std::vector<Config> first;
    for (const InnerOrder order : kOrders) {
      if (const auto offered = names(problem, order, device_.num_units); !offered.empty())
        first.push_back(config_of(order, offered.front(), device_.num_units));
    }
    return first;
  }

  /// Names of the implementations offered, in oneDNN's order of preference, without the reference.
  std::vector<std::string> names(const Problem& problem, InnerOrder order, int64_t threads) const {
    std::vector<std::string> offered;
    const OpenmpThreads guard(static_cast<int>(threads));
    const auto shape = ConvShape::of(problem);
    const ConvDescription description = description_of(shape);
    const auto operands = description.operands();
    description.for_each(order, engine_, [&](const OfferedConv& one) {
      if (!is_reference(one.name) && has_reorders(shape.result, one.descs, operands, engine_))
        offered.push_back(one.name);
      return true;
    });
    return offered;
  }

  /// Generates the code of the first implementation that fits, for a number of threads; nothing if none does.
  template <typename Fits>
  std::optional<PreparedConv> prepared(const ConvShape& shape, InnerOrder order, int threads, Fits fits) const {
    const OpenmpThreads guard(threads);
    const ConvDescription description = description_of(shape);
    const auto operands = description.operands();
    std::optional<PreparedConv> found;
    description.for_each(order, engine_, [&](const OfferedConv& one) {
      if (fits(one.name) && has_reorders(shape.result, one.descs, operands, engine_))
        guarded(ErrorCode::unavailable, [&] { found.emplace(shape, one, operands, engine_); });
      return !found.has_value();
    });
    return found;
  }

  DeviceInfo device_;
  dnnl::engine engine_;
};

}  // namespace

Support OnednnConvSolver::supports(const Problem& problem, const DeviceInfo& device) const {
  if (device.kind != "host") return Support::no("runs on a host only");
  if (problem.op() != "conv") return Support::no("computes conv only");
  const auto shape = ConvShape::of(problem);
  if (shape.is_3d) return Support::no("computes 2-D convolutions only");
  const InstructionSets sets = device.instruction_sets();
  switch (shape.dtype) {
    case DType::fp32:
      return {};
    case DType::bf16:
      if (sets.level() > 0 && !sets.has(InstructionSet::avx512)) return Support::no("supports bf16 with AVX-512 only");
      return {};
    case DType::fp16: {
      GemmShape halves;
      halves.in = halves.out = DType::fp16;
      return onednn_supports_fp16(halves);
    }
    default:
      return Support::no("computes fp32, bf16 and fp16 only");
  }
}

std::unique_ptr<Backend> OnednnConvSolver::open(Device& device) const {
  return std::make_unique<OnednnConvBackend>(device.info());
}

}  // namespace attune
