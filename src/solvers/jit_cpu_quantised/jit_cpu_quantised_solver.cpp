// SPDX-License-Identifier: MIT
// int8 products with kernels generated and compiled for this machine. The compiled code is independent of M, N and K.
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

/// The name of a device implies VNNI, which a hypervisor may hide. Throws unavailable.
void check_vnni(const ByteUnit& unit) {
  __builtin_cpu_init();
  const bool has = unit.lanes() == 16 ? __builtin_cpu_supports("avx512vnni") : __builtin_cpu_supports("avxvnni");
  if (unit.vnni && !has) fail(ErrorCode::unavailable, "this processor does not have the VNNI that its name implies");
}

class JitCpuQuantisedBackend final : public StaticSpaceBackend {
 public:
  JitCpuQuantisedBackend(const StaticSpace& stated, const DeviceInfo& device)
      : StaticSpaceBackend(stated, device), compiler_(toolchain_if_any("hostcc")) {}

  Versions versions() const override {
    Versions all = {{"jit_cpu.gemm_a8w8", "1"}, {"kernel.jit_cpu.gemm_a8w8", kSourcesHash}};
    if (!compiler_.empty()) all.emplace("compiler.hostcc", compiler_);
    return all;
  }

  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext& context) override {
    if (context.binaries.size() != 1)
      fail(ErrorCode::unavailable, "the kernel must be compiled first, got {} binaries", context.binaries.size());
    const auto shape = QuantisedGemm::of(problem);
    ProductLoops loops = product_loops(shape, config, device());
    loops.threads = thread_count(config, device());
    check_vnni(loops.spec.unit);
    return make_product_plan(shape, loops, ProductFunctions(loops.spec.kernel, context.binaries.front().file));
  }

 private:
  std::string compiler_;  ///< Its toolchain; empty without a compiler, where kernels come from the cache.
};

class JitCpuQuantisedSolver final : public Solver, public StaticSpace {
 public:
  std::string_view id() const override { return "jit_cpu.gemm_a8w8"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "int8 kernels generated for this processor and compiled here"; }
  std::string_view thread_pool() const override { return "libgomp"; }

  Support supports(const Problem& problem, const DeviceInfo& device) const override {
    if (device.kind != "host") return Support::no("runs on a host only");
    if (problem.op() != "gemm_a8w8") return Support::no("computes gemm_a8w8 only");
    if (problem.dtype("q_dtype_w") != DType::int8) return Support::no("multiplies int8 only");
    if (ByteUnit::of(device).lanes() == 0) return Support::no("needs AVX2 and FMA");
    return {};
  }

  const StaticSpace* static_space() const override { return this; }
  SearchSpace space(const Problem& problem, const DeviceInfo& device) const override {
    return quantised_space(QuantisedGemm::of(problem), device);
  }
  Config untuned(const Problem& problem, const DeviceInfo& device) const override {
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
    return std::make_unique<JitCpuQuantisedBackend>(*this, device.info());
  }
};

}  // namespace
}  // namespace attune

ATTUNE_SOLVER_MODULE(attune::JitCpuQuantisedSolver)
