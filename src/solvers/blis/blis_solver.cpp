// SPDX-License-Identifier: MIT
// BLIS through its typed expert interface: thread factors of the five loops and the small-matrix path are per call.
// blis.h is C and not clean under our warnings; CMake includes it as a system header.
#include <blis.h>
// blis.h defines these as macros.
#undef min
#undef max
#undef abs

#include <cstring>
#include <string>

#include "base/error.h"
#include "ops/gemm/gemm_bias.h"
#include "ops/gemm/gemm_op.h"
#include "solver/host_gemm.h"
#include "solver/module.h"
#include "solver/module/openmp_team.h"
#include "solver/own_library.h"
#include "solver/thread_counts.h"

namespace attune {
namespace {

/// The library's state before the config is applied. Versions before 1.0 have an initializer of their own; newer ones
/// know only this function which kind of threads the library was built for.
rntm_t library_state() {
  rntm_t runtime;
  bli_rntm_init_from_global(&runtime);
  bli_rntm_set_pack_a(false, &runtime);
  bli_rntm_set_pack_b(false, &runtime);
  return runtime;
}

/// One thread, which runs where BLIS cannot have its team.
rntm_t one_thread(const Config& config) {
  rntm_t runtime = library_state();
  bli_rntm_set_num_threads(1, &runtime);
  bli_rntm_set_l3_sup(config.integer("sup") != 0, &runtime);
  return runtime;
}

rntm_t runtime_of(const Config& config) {
  rntm_t runtime = library_state();
  if (config.text("factor") == "auto") {
    bli_rntm_set_num_threads(config.integer("threads"), &runtime);
  } else {
    bli_rntm_set_ways(config.integer("jc"), 1, config.integer("ic"), config.integer("jr"), 1, &runtime);
  }
  bli_rntm_set_l3_sup(config.integer("sup") != 0, &runtime);
  return runtime;
}

class BlisPlan final : public Plan {
 public:
  BlisPlan(const GemmShape& shape, const Config& config, int threads)
      : shape_(shape), threads_(threads), runtime_(runtime_of(config)), alone_(one_thread(config)) {
    traits_.host_bytes = sizeof *this;
  }
  const PlanTraits& traits() const noexcept override { return traits_; }

  void run(const Launch& launch) const override {
    const auto where = GemmOperands::of(shape_);
    auto* a = static_cast<float*>(launch.operands[where.a]);
    auto* b = static_cast<float*>(launch.operands[where.b]);
    auto* c = static_cast<float*>(launch.operands[where.c]);
    if (shape_.bias) broadcast_bias(static_cast<const float*>(launch.operands[where.bias]), c, shape_.m, shape_.n);
    float alpha = 1.0f, beta = shape_.bias ? 1.0f : 0.0f;
    // The strides describe how A and B are stored, so no transposition flag is needed.
    const inc_t a_row = shape_.trans_a ? 1 : shape_.k, a_column = shape_.trans_a ? shape_.m : 1;
    const inc_t b_row = shape_.b_is_kn ? shape_.n : 1, b_column = shape_.b_is_kn ? 1 : shape_.k;
    const OpenmpTeam team(threads_);                               // With some threads missing BLIS aborts.
    rntm_t runtime = team.size() == threads_ ? runtime_ : alone_;  // BLIS writes into it.
    bli_sgemm_ex(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, shape_.m, shape_.n, shape_.k, &alpha, a, a_row, a_column, b,
                 b_row, b_column, &beta, c, shape_.n, 1, nullptr, &runtime);
  }

 private:
  GemmShape shape_;
  int threads_;
  rntm_t runtime_, alone_;
  PlanTraits traits_;
};

class BlisBackend final : public Backend {
 public:
  explicit BlisBackend(const DeviceInfo& device) : device_(device) {
    require_library(reinterpret_cast<const void*>(&bli_sgemm_ex), "bli_sgemm_ex", "libblis");
    bli_init();  // With BLIS_ARCH_TYPE set, 0.9.0 aborts if it is asked for its architecture before this call.
  }

  Versions versions() const override {
    return {{"blis.gemm", std::string("1+") + bli_info_get_version_str()},
            {"blis.core", bli_arch_string(bli_arch_query_id())}};
  }

  SearchSpace space(const Problem&) override {
    const auto counts = thread_counts(device_.num_units);
    const std::string given = "factor == 'given'";
    return SearchSpace::product(
        {{.name = "sup", .values = {int64_t{1}, int64_t{0}}},
         {.name = "threads", .values = counts},
         {.name = "factor", .values = {std::string("auto"), std::string("given")}},
         {.name = "jc", .values = counts, .active_if = given},
         {.name = "ic", .values = counts, .active_if = given},
         {.name = "jr", .values = counts, .active_if = given}},
        {{"threads-factored", "factor == 'auto' || jc * ic * jr == threads",
          "the loop factors multiply to the number of threads"},
         {"one-thread", "factor == 'auto' || threads > 1", "one thread has one factorisation"}});
  }

  /// All cores, factors chosen by the library. (BLIS by default uses one thread, which would be an unfair baseline.)
  Config default_config(const Problem&) override {
    return Config({{"factor", std::string("auto")}, {"sup", int64_t{1}}, {"threads", device_.num_units}});
  }

  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext&) override {
    const int threads = thread_count(config, device_);
    if (config.text("factor") == "given" &&
        config.integer("jc") * config.integer("ic") * config.integer("jr") != threads)
      fail(ErrorCode::unavailable, "the factors jc, ic and jr must multiply to the threads, got '{}'", config.key());
    return std::make_unique<BlisPlan>(GemmShape::of(problem), config, threads);
  }

  std::vector<EntryPoint> entry_points() const override {
    return {{"bli_sgemm_ex", library_of(reinterpret_cast<const void*>(&bli_sgemm_ex))}};
  }

 private:
  DeviceInfo device_;
};

/// Measured: a product of one row breaks even between 4,096 and 9,216 multiplications
/// (docs/performance/one_thread.md).
constexpr double kOneThreadFlops = 2 * 4'096;

class BlisSolver final : public Solver {
 public:
  std::string_view id() const override { return "blis.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "BLIS sgemm with its loop factors"; }
  std::string_view thread_pool() const override { return "libgomp"; }
  Support supports(const Problem& problem, const DeviceInfo& device) const override {
    return supports_host_sgemm(problem, device);
  }
  double one_thread_flops() const override { return kOneThreadFlops; }
  std::unique_ptr<Backend> open(Device& device) const override { return std::make_unique<BlisBackend>(device.info()); }
};

}  // namespace
}  // namespace attune

ATTUNE_SOLVER_MODULE(attune::BlisSolver)
