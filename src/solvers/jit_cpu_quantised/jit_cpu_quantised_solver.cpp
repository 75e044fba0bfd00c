// SPDX-License-Identifier: MIT
// Quantised products with kernels generated and compiled for this machine. The compiled code is independent of M, N and
// K.
#include <fmt/format.h>

#include "base/error.h"
#include "compile/compiler.h"
#include "jit_cpu_quantised/sources_hash.h"
#include "solver/host_gemm.h"
#include "solver/module.h"
#include "solver/static/static_space_backend.h"
#include "solvers/jit_cpu_quantised/quantised_space.h"

namespace attune {
namespace {

using namespace jit_cpu_quantised;

/// The name of a device implies instructions that a hypervisor may hide, and Cooper Lake has no VBMI. Throws
/// unavailable.
void check_instructions(const ProductSpec& spec) {
  const ByteUnit& unit = spec.unit;
  __builtin_cpu_init();
  if (spec.engine == Engine::bf16 && !__builtin_cpu_supports("avx512vbmi"))
    fail(ErrorCode::unavailable,
         "this processor does not have AVX512-VBMI, which decodes fp8 to bf16; use engine=fp32");
  if (spec.engine != Engine::bytes) return;
  const bool has = unit.lanes() == 16 ? __builtin_cpu_supports("avx512vnni") : __builtin_cpu_supports("avxvnni");
  if (unit.vnni && !has) fail(ErrorCode::unavailable, "this processor does not have the VNNI that its name implies");
}

class JitCpuQuantisedBackend final : public StaticSpaceBackend {
 public:
  JitCpuQuantisedBackend(const StaticSpace& stated, const DeviceInfo& device, std::string_view id)
      : StaticSpaceBackend(stated, device), id_(id), compiler_(toolchain_if_any("hostcc")) {}

  Versions versions() const override {
    Versions all = kernel_versions();
    all.emplace(id_, "1");
    if (!compiler_.empty()) all.emplace("compiler.hostcc", compiler_);
    return all;
  }

  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext& context) override {
    if (context.binaries.size() != 1)
      fail(ErrorCode::unavailable, "the kernel must be compiled first, got {} binaries", context.binaries.size());
    const auto shape = QuantisedGemm::of(problem);
    ProductLoops loops = product_loops(shape, config, device());
    loops.threads = thread_count(config, device());
    check_instructions(loops.spec);
    return make_product_plan(shape, loops, ProductFunctions(loops.spec, context.binaries.front().file));
  }

 private:
  std::string id_;        ///< Of the solver.
  std::string compiler_;  ///< Its toolchain; empty without a compiler, where kernels come from the cache.
};

class JitCpuQuantisedSolver : public Solver, public StaticSpace {
 public:
  explicit JitCpuQuantisedSolver(std::string_view op) : op_(op), id_(fmt::format("jit_cpu.{}", op)) {}
  std::string_view id() const override { return id_; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "quantised kernels generated for this processor and compiled here"; }
  std::string_view thread_pool() const override { return "libgomp"; }

  Support supports(const Problem& problem, const DeviceInfo& device) const override {
    if (device.kind != "host") return Support::no("runs on a host only");
    if (problem.op() != op_) return Support::no(fmt::format("computes {} only", op_));
    const int lanes = ByteUnit::of(device).lanes();
    if (lanes == 0) return Support::no("needs AVX2 and FMA");
    if (problem.integer_or("bpreshuffle", 0) != 0 && (op_ != "gemm_a4w4_blockscale" || lanes != 16))
      return Support::no("supports packed weights (bpreshuffle=1) of MXFP4 with AVX-512 only");
    return {};
  }

  const StaticSpace* static_space() const override { return this; }
  Versions kernel_versions() const override { return {{"kernel." + id_, kSourcesHash}}; }
  SearchSpace space(const Problem& problem, const DeviceInfo& device) const override {
    return quantised_space(QuantisedGemm::of(problem), device);
  }
  Config default_config(const Problem& problem, const DeviceInfo& device) const override {
    return quantised_start(QuantisedGemm::of(problem), device);
  }
  SearchSpace invariant_space(const Problem& problem, const DeviceInfo& device) const override {
    return quantised_invariant_space(QuantisedGemm::of(problem), device);
  }

  std::vector<CompileTask> compile_tasks(const Problem& problem, const Config& config,
                                         const DeviceInfo& device) const override {
    return {product_task(product_loops(QuantisedGemm::of(problem), config, device).spec)};
  }

  std::unique_ptr<Backend> open(Device& device) const override {
    return std::make_unique<JitCpuQuantisedBackend>(*this, device.info(), id_);
  }

 private:
  std::string op_, id_;
};

struct JitCpuA8w8 final : JitCpuQuantisedSolver {
  JitCpuA8w8() : JitCpuQuantisedSolver("gemm_a8w8") {}
};
struct JitCpuA8w8Blockscale final : JitCpuQuantisedSolver {
  JitCpuA8w8Blockscale() : JitCpuQuantisedSolver("gemm_a8w8_blockscale") {}
};
struct JitCpuA4w4Blockscale final : JitCpuQuantisedSolver {
  JitCpuA4w4Blockscale() : JitCpuQuantisedSolver("gemm_a4w4_blockscale") {}
};

}  // namespace
}  // namespace attune

ATTUNE_SOLVER_MODULE(attune::JitCpuA8w8, attune::JitCpuA8w8Blockscale, attune::JitCpuA4w4Blockscale)
