// SPDX-License-Identifier: MIT
// oneDNN matmul: one candidate for each implementation its iterator offers and each thread count. Threads come from
// libgomp, whose team size is fixed when the primitive is created and used again when it runs. Compiled once for each
// version of the library (onednn_library.h).
#include <omp.h>

#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "base/error.h"
#include "ops/gemm/gemm_op.h"
#include "solver/host_gemm.h"
#include "solver/module.h"
#include "solver/own_library.h"
#include "solver/thread_counts.h"
#include "solvers/onednn/onednn_library.h"

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
  bool has_bias;
};

Description describe(const GemmShape& shape) {
  using tag = memory::format_tag;
  const auto in = data_type_of(shape.in), out = data_type_of(shape.out);
  return {memory::desc({shape.m, shape.k}, in, shape.trans_a ? tag::ba : tag::ab),
          memory::desc({shape.k, shape.n}, in, shape.b_is_kn ? tag::ab : tag::ba),
          shape.bias ? memory::desc({1, shape.n}, in, tag::ab) : memory::desc(),
          memory::desc({shape.m, shape.n}, out, tag::ab), shape.bias};
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

/// Hands the first implementation offered to `use`. Version 2 makes it of a description of the operation, of which its
/// iterator keeps a pointer: the description has to live as long as next_impl() is called. Version 3 makes it directly.
template <typename Matmul = dnnl::matmul, typename Use>
void with_first_matmul(const Description& d, const dnnl::engine& engine, Use use) {
  const auto attributes = user_scratchpad();
  using Implementation = typename Matmul::primitive_desc;
  if constexpr (requires { typename Matmul::desc; }) {
    using Operation = typename Matmul::desc;
    const Operation operation = d.has_bias ? Operation(d.a, d.b, d.bias, d.c) : Operation(d.a, d.b, d.c);
    use(Implementation(operation, attributes, engine));
  } else if (d.has_bias) {
    use(Implementation(engine, d.a, d.b, d.bias, d.c, attributes));
  } else {
    use(Implementation(engine, d.a, d.b, d.c, attributes));
  }
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
    require_library(reinterpret_cast<const void*>(&dnnl_primitive_execute), "dnnl_primitive_execute",
                    onednn_library().file);
  }

  Versions versions() const override {
    const auto* version = dnnl::version();
    // ONEDNN_MAX_CPU_ISA limits it: then the library is another one.
    const std::string name(onednn_library().name);
    return {{name + ".gemm", fmt::format("1+{}.{}.{}", version->major, version->minor, version->patch)},
            {name + ".isa", fmt::format("{:#x}", static_cast<int>(dnnl::get_effective_cpu_isa()))}};
  }

  SearchSpace space(const Problem& problem) override {
    const auto offered = names(problem);
    std::vector<Value> values;
    std::vector<Rule> rules;
    for (const auto& name : offered) {
      values.emplace_back(name);
      if (is_reference(name) && name != preferred(offered))
        rules.push_back({"no-reference", fmt::format("impl != '{}'", name),
                         "oneDNN's reference implementation is thousands of times slower"});
    }
    return SearchSpace::product({{.name = "impl", .values = std::move(values)},
                                 {.name = "threads", .values = thread_counts(device_.num_units)}},
                                std::move(rules));
  }

  Config untuned(const Problem& problem) override {
    return Config({{"impl", preferred(names(problem))}, {"threads", device_.num_units}});
  }

  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext&) override {
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
  static bool is_reference(std::string_view name) { return name.starts_with("ref"); }

  /// What is offered for all cores.
  std::vector<std::string> names(const Problem& problem) {
    std::vector<std::string> offered;
    omp_set_num_threads(static_cast<int>(device_.num_units));
    for_each(GemmShape::of(problem), [&](const std::string& name, const dnnl::matmul::primitive_desc&) {
      offered.push_back(name);
      return true;
    });
    return offered;
  }

  /// oneDNN's own choice; a reference implementation only if there is nothing else.
  static const std::string& preferred(const std::vector<std::string>& offered) {
    const auto found = std::find_if_not(offered.begin(), offered.end(), is_reference);
    return found == offered.end() ? offered.front() : *found;
  }

  /// Visits the implementations in oneDNN's order of preference; a name that comes again is visited once.
  template <typename Visit>
  void for_each(const GemmShape& shape, Visit visit) {
    const auto visit_all = [&](dnnl::matmul::primitive_desc implementation) {
      std::vector<std::string> seen;
      do {
        std::string name = implementation.impl_info_str();
        if (std::find(seen.begin(), seen.end(), name) != seen.end()) continue;
        seen.push_back(name);
        if (!visit(name, implementation)) return;
      } while (implementation.next_impl());
    };
    guarded(ErrorCode::unavailable, [&] { with_first_matmul(describe(shape), engine_, visit_all); });
  }

  DeviceInfo device_;
  dnnl::engine engine_;
};

class OnednnSolver final : public Solver {
 public:
  std::string_view id() const override { return onednn_library().id; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return onednn_library().title; }
  std::string_view thread_pool() const override { return "libgomp"; }
  Support supports(const Problem& problem, const DeviceInfo& device) const override {
    if (const Support support = supports_host_gemm(problem, device); !support.yes) return support;
    const auto shape = GemmShape::of(problem);
    if (shape.in == DType::fp16 || shape.out == DType::fp16) {
      if (const Support support = onednn_supports_fp16(shape); !support.yes) return support;
    }
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
