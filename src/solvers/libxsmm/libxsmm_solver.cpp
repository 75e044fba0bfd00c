// SPDX-License-Identifier: MIT
// libxsmm: kernels generated for each tile size. Only generated kernels are called: the library's general routines pass
// larger products to a BLAS, and without one compute nothing.
#include <libxsmm.h>

#include <algorithm>

#include "base/error.h"
#include "solver/host_gemm.h"
#include "solver/module.h"
#include "solver/own_library.h"
#include "solver/thread_counts.h"
#include "solvers/libxsmm/libxsmm_plan.h"

namespace attune {
namespace {

constexpr double kMaxMacs = 512.0 * 512 * 512;
constexpr int64_t kMaxExtent = 1 << 16;    // Offsets in the generated code are 32 bits wide.
constexpr int64_t kMaxNarrowDepth = 8192;  // bf16 results require K in one tile: partial sums would be rounded.

/// The given steps below an extent, then the extent itself, at most `max_step`.
std::vector<Value> tile_sizes(int64_t extent, std::initializer_list<int64_t> steps, int64_t max_step) {
  std::vector<Value> sizes;
  for (const int64_t step : steps) {
    if (step < std::min(extent, max_step)) sizes.emplace_back(step);
  }
  sizes.emplace_back(std::min(extent, max_step));
  return sizes;
}

class LibxsmmBackend final : public Backend {
 public:
  explicit LibxsmmBackend(const DeviceInfo& device) : device_(device) {
    libxsmm_init();
    // Debian has libxsmm only as an archive: its code lies in this module.
    require_library(reinterpret_cast<const void*>(&libxsmm_smmdispatch), "libxsmm_smmdispatch",
                    "attune_solver_libxsmm");
  }

  Versions versions() const override {
    // LIBXSMM_TARGET limits the instructions: the target is part of the library's identity.
    return {{"libxsmm.gemm", "1+" LIBXSMM_CONFIG_VERSION}, {"libxsmm.target", libxsmm_get_target_arch()}};
  }

  SearchSpace space(const Problem& problem) override {
    const auto shape = GemmShape::of(problem);
    return SearchSpace::product({{.name = "tile_m", .values = tile_sizes(shape.m, {16, 64}, 128)},
                                 {.name = "tile_n", .values = tile_sizes(shape.n, {16, 32}, 64)},
                                 {.name = "tile_k", .values = depths(shape)},
                                 {.name = "threads", .values = thread_counts(device_.num_units)}},
                                {});
  }

  Config default_config(const Problem& problem) override {
    const auto shape = GemmShape::of(problem);
    return Config({{"tile_m", std::min<int64_t>(shape.m, 128)},
                   {"tile_n", std::min<int64_t>(shape.n, 64)},
                   {"tile_k", depths(shape).back()},
                   {"threads", device_.num_units}});
  }

  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext&) override {
    const int threads = thread_count(config, device_);
    const auto shape = GemmShape::of(problem);
    const LibxsmmTiles tiles{config.integer("tile_m"), config.integer("tile_n"), config.integer("tile_k")};
    const auto fits = [](int64_t tile, int64_t extent) { return tile >= 1 && tile <= extent; };
    if (!fits(tiles.m, shape.m) || !fits(tiles.n, shape.n) || !fits(tiles.k, shape.k))
      fail(ErrorCode::unavailable, "a tile must fit inside the product {}×{}×{}: '{}'", shape.m, shape.n, shape.k,
           config.key());
    if (shape.in != DType::fp32 && tiles.k % 2 != 0)
      fail(ErrorCode::unavailable, "bf16 is multiplied in pairs along k, tile_k must be even: {}", tiles.k);
    if (shape.out != DType::fp32 && tiles.k != shape.k)
      fail(ErrorCode::unavailable, "a bf16 result needs the whole k={} in one tile, got tile_k={}", shape.k, tiles.k);
    return std::make_unique<LibxsmmPlan>(shape, tiles, threads);
  }

  std::vector<EntryPoint> entry_points() const override {
    return {{"libxsmm_smmdispatch", library_of(reinterpret_cast<const void*>(&libxsmm_smmdispatch))}};
  }

 private:
  static std::vector<Value> depths(const GemmShape& shape) {
    if (shape.out != DType::fp32) return {shape.k};
    return tile_sizes(shape.k, {256, 1024}, 4096);
  }

  DeviceInfo device_;
};

/// Measured: a product of one row breaks even between 9,216 and 16,384 multiplications
/// (docs/performance/one_thread.md).
constexpr double kOneThreadFlops = 2 * 9'216;

class LibxsmmSolver final : public Solver {
 public:
  std::string_view id() const override { return "libxsmm.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "libxsmm's generated kernels over tiles, small products"; }
  std::string_view thread_pool() const override { return "libgomp"; }
  Support supports(const Problem& problem, const DeviceInfo& device) const override {
    if (const Support support = supports_host_gemm(problem, device); !support.yes) return support;
    const auto shape = GemmShape::of(problem);
    if (shape.macs() > kMaxMacs || std::max({shape.m, shape.n, shape.k}) > kMaxExtent)
      return Support::no("supports small products only, up to 512³");
    if (shape.in == DType::fp32)
      return shape.out == DType::fp32 ? Support{} : Support::no("supports fp32 inputs with fp32 results only");
    return shape.in == DType::bf16 ? supports_bf16(shape, device) : Support::no("does not support fp16");
  }
  double one_thread_flops() const override { return kOneThreadFlops; }
  std::unique_ptr<Backend> open(Device& device) const override {
    return std::make_unique<LibxsmmBackend>(device.info());
  }

 private:
  static Support supports_bf16(const GemmShape& shape, const DeviceInfo& device) {
    if (!device.instruction_sets().has(InstructionSet::avx512_bf16)) return Support::no("bf16 needs AVX512-BF16");
    if (shape.out == DType::fp16) return Support::no("supports bf16 inputs with bf16 or fp32 results only");
    if (shape.k % 2 != 0) return Support::no("bf16 needs an even k");
    if (shape.trans_a || shape.b_is_kn) return Support::no("bf16 needs trans_a=0 and trans_b=1");
    if (shape.out == DType::bf16 && shape.k > kMaxNarrowDepth)
      return Support::no("bf16 results need a k of at most 8192");
    return {};
  }
};

}  // namespace
}  // namespace attune

ATTUNE_SOLVER_MODULE(attune::LibxsmmSolver)
