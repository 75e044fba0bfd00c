// SPDX-License-Identifier: MIT
// oneDNN 2.x matmul: one candidate for each implementation its iterator offers and each thread count. Threads come from
// libgomp, whose team size is fixed when the primitive is created and used again when it runs.
#include <omp.h>

#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "base/error.h"
#include "ops/gemm/gemm_op.h"
#include "solver/host_gemm.h"
#include "solver/module.h"
#include "solver/own_library.h"
#include "solver/thread_counts.h"

namespace attune {
namespace {

using dnnl::memory;

memory::data_type data_type_of(DType dtype) {
  switch (dtype) {
    case DType::fp32:
      return memory::data_type::f32;
    case DType::bf16:
      return memory::data_type::bf16;
    case DType::fp16:
      return memory::data_type::f16;
    default:
      fail(ErrorCode::unavailable, "oneDNN's matmul takes fp32, bf16 and fp16, got {}", name(dtype));
  }
}

/// Runs a call into oneDNN and turns its exception into ours.
template <typename Call>
auto guarded(ErrorCode code, Call call) {
  try {
    return call();
  } catch (const dnnl::error& error) {
    fail(code, "oneDNN refused: {} (status {})", error.what(), static_cast<int>(error.status));
  }
}

struct Description {
  memory::desc a, b, bias, c;
  dnnl::matmul::desc matmul;
};

Description describe(const GemmShape& shape) {
  using tag = memory::format_tag;
  const auto in = data_type_of(shape.in), out = data_type_of(shape.out);
  memory::desc a({shape.m, shape.k}, in, shape.trans_a ? tag::ba : tag::ab);
  memory::desc b({shape.k, shape.n}, in, shape.b_is_kn ? tag::ab : tag::ba);
  memory::desc c({shape.m, shape.n}, out, tag::ab);
  memory::desc bias = shape.bias ? memory::desc({1, shape.n}, in, tag::ab) : memory::desc();
  return {a, b, bias, c, shape.bias ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c)};
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

class OnednnPlan final : public Plan {
 public:
  OnednnPlan(const GemmShape& shape, const dnnl::matmul::primitive_desc& chosen, const dnnl::engine& engine,
             int threads)
      : where_(GemmOperands::of(shape)), has_bias_(shape.bias), threads_(threads), stream_(engine), matmul_(chosen) {
    traits_.workspace_bytes = chosen.scratchpad_desc().get_size();
    traits_.reentrant = false;
    arguments_ = {{DNNL_ARG_SRC, memory(chosen.src_desc(), engine, DNNL_MEMORY_NONE)},
                  {DNNL_ARG_WEIGHTS, memory(chosen.weights_desc(), engine, DNNL_MEMORY_NONE)},
                  {DNNL_ARG_DST, memory(chosen.dst_desc(), engine, DNNL_MEMORY_NONE)},
                  {DNNL_ARG_SCRATCHPAD, memory(chosen.scratchpad_desc(), engine, DNNL_MEMORY_NONE)}};
    if (has_bias_) arguments_.emplace(DNNL_ARG_BIAS, memory(chosen.bias_desc(), engine, DNNL_MEMORY_NONE));
  }
  const PlanTraits& traits() const noexcept override { return traits_; }

  void run(const Launch& launch) const override {
    arguments_.at(DNNL_ARG_SRC).set_data_handle(launch.operands[where_.a]);
    arguments_.at(DNNL_ARG_WEIGHTS).set_data_handle(launch.operands[where_.b]);
    arguments_.at(DNNL_ARG_DST).set_data_handle(launch.operands[where_.c]);
    arguments_.at(DNNL_ARG_SCRATCHPAD).set_data_handle(launch.workspace);
    if (has_bias_) arguments_.at(DNNL_ARG_BIAS).set_data_handle(launch.operands[where_.bias]);
    omp_set_num_threads(threads_);
    guarded(ErrorCode::device, [&] {
      matmul_.execute(stream_, arguments_);
      stream_.wait();
    });
  }

 private:
  GemmOperands where_;
  bool has_bias_;
  int threads_;
  mutable dnnl::stream stream_;
  dnnl::matmul matmul_;
  mutable std::unordered_map<int, memory> arguments_;  // Made once: run() allocates nothing.
  PlanTraits traits_;
};

class OnednnBackend final : public Backend {
 public:
  explicit OnednnBackend(const DeviceInfo& device) : device_(device), engine_(dnnl::engine::kind::cpu, 0) {
    require_library(reinterpret_cast<const void*>(&dnnl_primitive_execute), "dnnl_primitive_execute", "libdnnl");
  }

  Versions versions() const override {
    const auto* version = dnnl::version();
    // ONEDNN_MAX_CPU_ISA limits it: then the library is another one.
    return {{"onednn.gemm", fmt::format("1+{}.{}.{}", version->major, version->minor, version->patch)},
            {"onednn.isa", fmt::format("{:#x}", static_cast<int>(dnnl::get_effective_cpu_isa()))}};
  }

  SearchSpace space(const Problem& problem) override {
    std::vector<Value> names;
    omp_set_num_threads(static_cast<int>(device_.num_units));
    for_each(GemmShape::of(problem), [&](const std::string& name, const dnnl::matmul::primitive_desc&) {
      names.emplace_back(name);
      return true;
    });
    return SearchSpace::product(
        {{.name = "impl", .values = std::move(names)}, {.name = "threads", .values = thread_counts(device_.num_units)}},
        {{"no-reference", "impl != 'ref:any'", "oneDNN's reference implementation is thousands of times slower"}});
  }

  Config untuned(const Problem& problem) override {
    omp_set_num_threads(static_cast<int>(device_.num_units));
    std::string first;
    for_each(GemmShape::of(problem), [&](const std::string& name, const dnnl::matmul::primitive_desc&) {
      first = name;
      return false;
    });
    return Config({{"impl", first}, {"threads", device_.num_units}});
  }

  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config) override {
    const int threads = thread_count(config, device_);
    omp_set_num_threads(threads);
    const auto shape = GemmShape::of(problem);
    const std::string& wanted = config.text("impl");
    std::unique_ptr<Plan> plan;
    for_each(shape, [&](const std::string& name, const dnnl::matmul::primitive_desc& chosen) {
      if (name != wanted) return true;
      plan = std::make_unique<OnednnPlan>(shape, chosen, engine_, threads);
      return false;
    });
    if (!plan)
      fail(ErrorCode::unavailable, "oneDNN does not offer the implementation with this number of threads: '{}'",
           wanted);
    return plan;
  }

  std::vector<EntryPoint> entry_points() const override {
    return {{"dnnl_primitive_execute", library_of(reinterpret_cast<const void*>(&dnnl_primitive_execute))}};
  }

 private:
  /// Visits the implementations in oneDNN's order of preference; a name that comes again is visited once.
  template <typename Visit>
  void for_each(const GemmShape& shape, Visit visit) {
    guarded(ErrorCode::unavailable, [&] {
      dnnl::matmul::primitive_desc implementation(describe(shape).matmul, user_scratchpad(), engine_);
      std::vector<std::string> seen;
      do {
        std::string name = implementation.impl_info_str();
        if (std::find(seen.begin(), seen.end(), name) != seen.end()) continue;
        seen.push_back(name);
        if (!visit(name, implementation)) return;
      } while (implementation.next_impl());
    });
  }

  DeviceInfo device_;
  dnnl::engine engine_;
};

class OnednnSolver final : public Solver {
 public:
  std::string_view id() const override { return "onednn.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "oneDNN matmul, every implementation it offers"; }
  std::string_view thread_pool() const override { return "libgomp"; }
  Support supports(const Problem& problem, const DeviceInfo& device) const override {
    if (const Support support = supports_host_gemm(problem, device); !support.yes) return support;
    const auto shape = GemmShape::of(problem);
    if (shape.in == DType::fp16 || shape.out == DType::fp16) return Support::no("oneDNN 2.6 has no fp16 on a CPU");
    if (shape.in == DType::fp32 && shape.out != DType::fp32) return Support::no("keeps fp32 results in fp32");
    return {};
  }
  std::unique_ptr<Backend> open(Device& device) const override {
    return std::make_unique<OnednnBackend>(device.info());
  }
};

}  // namespace
}  // namespace attune

ATTUNE_SOLVER_MODULE(attune::OnednnSolver)
