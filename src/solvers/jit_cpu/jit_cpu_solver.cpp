// SPDX-License-Identifier: MIT
// Kernels generated and compiled for this machine. The compiled code is independent of M, N and K, so a few dozen
// binaries serve every shape.
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "compile/compiler.h"
#include "jit_cpu/sources_hash.h"
#include "solver/host_gemm.h"
#include "solver/module.h"
#include "solver/static/static_space_backend.h"
#include "solvers/jit_cpu/dot_plan.h"
#include "solvers/jit_cpu/gemm_space.h"
#include "solvers/jit_cpu/tile_plan.h"

namespace attune {
namespace {

using namespace jit_cpu;

/// Requests tile registers from the operating system's kernel, which grants them per process. Throws unavailable when
/// it refuses.
void allow_amx() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  if (::syscall(SYS_arch_prctl, kRequestPermission, kTileData) != 0)
    fail(ErrorCode::unavailable, "the system does not allow AMX: {}", std::strerror(errno));
}

class JitCpuBackend final : public StaticSpaceBackend {
 public:
  JitCpuBackend(const StaticSpace& stated, const DeviceInfo& device)
      : StaticSpaceBackend(stated, device), compiler_(toolchain_if_any("hostcc")) {}

  Versions versions() const override {
    Versions all = kernel_versions();
    all.emplace("jit_cpu.gemm", "1");
    if (!compiler_.empty()) all.emplace("compiler.hostcc", compiler_);
    return all;
  }

  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext& context) override {
    if (context.binaries.size() != 2)
      fail(ErrorCode::unavailable, "the kernel and its packing must be compiled first, got {} binaries",
           context.binaries.size());
    const auto shape = GemmShape::of(problem);
    const int threads = thread_count(config, device());
    const auto &kernel = context.binaries[0].file, &pack = context.binaries[1].file;
    if (is_dot(config))
      return make_dot_plan(shape, dot_spec(shape, config, device()), threads, DotFunctions(kernel, pack));
    const TileLoops loops = tile_loops(shape, config, device());
    if (loops.spec.engine == Engine::amx) allow_amx();
    return make_tile_plan(shape, loops, TileFunctions(loops.spec.engine, kernel, pack));
  }

 private:
  std::string compiler_;  ///< Its toolchain; empty without a compiler, where kernels come from the cache.
};

class JitCpuSolver final : public Solver, public StaticSpace {
 public:
  std::string_view id() const override { return "jit_cpu.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "kernels generated for this processor and compiled here"; }
  std::string_view thread_pool() const override { return "libgomp"; }

  Support supports(const Problem& problem, const DeviceInfo& device) const override {
    if (const Support support = supports_host_gemm(problem, device, WeightForms::plain_or_packed, {.act = true});
        !support.yes)
      return support;
    if (VectorUnit::of(device).lanes == 0) return Support::no("needs AVX2 and FMA");
    const auto shape = GemmShape::of(problem);
    if (shape.trans_a && shape.b_is_kn) return Support::no("supports one transposed operand at most");
    if (shape.trans_a && shape.packed) return Support::no("does not support a transposed x with packed weights");
    if (shape.trans_a && shape.m < kPanel) return Support::no("supports a transposed x of 16 rows or more only");
    return {};
  }

  const StaticSpace* static_space() const override { return this; }
  Versions kernel_versions() const override { return {{"kernel.jit_cpu.gemm", kSourcesHash}}; }
  SearchSpace space(const Problem& problem, const DeviceInfo& device) const override {
    return gemm_space(GemmShape::of(problem), device);
  }
  Config default_config(const Problem& problem, const DeviceInfo& device) const override {
    return gemm_start(GemmShape::of(problem), device);
  }
  SearchSpace invariant_space(const Problem& problem, const DeviceInfo& device) const override {
    return gemm_invariant_space(GemmShape::of(problem), device);
  }

  std::vector<CompileTask> compile_tasks(const Problem& problem, const Config& config,
                                         const DeviceInfo& device) const override {
    return gemm_tasks(GemmShape::of(problem), config, device);
  }

  std::unique_ptr<Backend> open(Device& device) const override {
    return std::make_unique<JitCpuBackend>(*this, device.info());
  }
};

}  // namespace
}  // namespace attune

ATTUNE_SOLVER_MODULE(attune::JitCpuSolver)
