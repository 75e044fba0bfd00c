// SPDX-License-Identifier: MIT
// Forward convolutions by a direct kernel that is generated and compiled for this machine.
#include "base/error.h"
#include "compile/compiler.h"
#include "jit_cpu_conv/sources_hash.h"
#include "solver/host_gemm.h"
#include "solver/module.h"
#include "solver/static/static_space_backend.h"
#include "solver/thread_counts.h"
#include "solvers/jit_cpu_conv/direct_plan.h"

namespace attune {
namespace {

using jit_cpu_conv::DirectSpec;

constexpr int kChannels[] = {8, 4, 1};
constexpr int kVectors[] = {3, 2, 1};

DirectSpec spec_of(const Config& config, const DeviceInfo& device) {
  return {.lanes = jit_cpu_conv::lanes_of(device),
          .channels = static_cast<int>(config.integer("channels")),
          .vectors = static_cast<int>(config.integer("vectors"))};
}

/// The blocks of a problem, those with the most channels first.
std::vector<DirectSpec> blocks_of(const ConvShape& shape, const DeviceInfo& device) {
  std::vector<DirectSpec> blocks;
  for (const int channels : kChannels) {
    for (const int vectors : kVectors) {
      const DirectSpec spec{.lanes = jit_cpu_conv::lanes_of(device), .channels = channels, .vectors = vectors};
      const bool is_too_wide = vectors > 1 && spec.columns() - spec.lanes >= shape.map[2];
      if (channels <= shape.group_map_channels() && spec.fits() && !is_too_wide) blocks.push_back(spec);
    }
  }
  return blocks;
}

Config config_of_block(const DirectSpec& spec, const Value& threads) {
  return Config({{"channels", int64_t{spec.channels}}, {"vectors", int64_t{spec.vectors}}, {"threads", threads}});
}

class JitCpuConvBackend final : public StaticSpaceBackend {
 public:
  JitCpuConvBackend(const StaticSpace& stated, const DeviceInfo& device)
      : StaticSpaceBackend(stated, device), compiler_(toolchain_if_any("hostcc")) {}

  Versions versions() const override {
    Versions all = kernel_versions();
    all.emplace("jit_cpu.conv", "1");
    if (!compiler_.empty()) all.emplace("compiler.hostcc", compiler_);
    return all;
  }

  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext& context) override {
    if (context.binaries.size() != 1)
      fail(ErrorCode::unavailable, "the kernel must be compiled first, got {} binaries", context.binaries.size());
    return jit_cpu_conv::make_direct_plan(ConvShape::of(problem), spec_of(config, device()),
                                          thread_count(config, device()), context.binaries[0].file);
  }

 private:
  std::string compiler_;  ///< Its toolchain; empty without a compiler, where kernels come from the cache.
};

class JitCpuConvSolver final : public Solver, public StaticSpace {
 public:
  std::string_view id() const override { return "jit_cpu.conv"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override {
    return "direct convolutions generated for this processor and compiled here";
  }
  std::string_view thread_pool() const override { return "libgomp"; }

  Support supports(const Problem& problem, const DeviceInfo& device) const override {
    if (device.kind != "host") return Support::no("runs on a host only");
    if (problem.op() != "conv") return Support::no("computes conv only");
    if (jit_cpu_conv::lanes_of(device) == 0) return Support::no("needs AVX2 and FMA");
    const auto shape = ConvShape::of(problem);
    if (shape.dtype != DType::fp32) return Support::no("computes fp32 only");
    if (shape.is_3d || shape.channels_last) return Support::no("computes NCHW only");
    if (shape.result != ConvShape::Tensor::map || problem.text("direction") != kConvDirections[0])
      return Support::no("computes direction=fwd of transposed=0 only");
    return {};
  }

  const StaticSpace* static_space() const override { return this; }
  Versions kernel_versions() const override { return {{"kernel.jit_cpu.conv", jit_cpu_conv::kSourcesHash}}; }
  SearchSpace space(const Problem& problem, const DeviceInfo& device) const override {
    std::vector<Config> rows;
    for (const DirectSpec& spec : blocks_of(ConvShape::of(problem), device)) {
      for (const Value& threads : thread_counts(device.num_units)) rows.push_back(config_of_block(spec, threads));
    }
    return SearchSpace::listed(std::move(rows));
  }
  Config default_config(const Problem& problem, const DeviceInfo& device) const override {
    return config_of_block(blocks_of(ConvShape::of(problem), device).front(), device.num_units);
  }
  std::vector<CompileTask> compile_tasks(const Problem&, const Config& config,
                                         const DeviceInfo& device) const override {
    return {jit_cpu_conv::direct_task(spec_of(config, device))};
  }
  std::unique_ptr<Backend> open(Device& device) const override {
    return std::make_unique<JitCpuConvBackend>(*this, device.info());
  }
};

}  // namespace
}  // namespace attune

ATTUNE_SOLVER_MODULE(attune::JitCpuConvSolver)
