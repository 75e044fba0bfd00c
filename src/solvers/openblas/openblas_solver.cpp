// SPDX-License-Identifier: MIT
// OpenBLAS through its C interface, with its own thread pool. OPENBLAS_CORETYPE sets the core type (see
// CMakeLists.txt): 0.3.21 treats an unknown Xeon as a Prescott and is then four times slower.
#include <cblas.h>
#include <openblas_config.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>

#include "base/error.h"
#include "ops/gemm/gemm_bias.h"
#include "ops/gemm/gemm_op.h"
#include "solver/host_gemm.h"
#include "solver/module.h"
#include "solver/own_library.h"
#include "solver/thread_counts.h"
#include "solver/threads/new_threads.h"

namespace attune {
namespace {

/// OpenBLAS's own threads. It starts them when it is loaded (ModuleSpec::starts_threads), more when it is asked for
/// more, and all of them again at the first call after a fork(), before which it ends them. It raises SIGINT, or waits
/// without end, if the system refuses one. Threads may call it at the same time, each with a plan of its own.
class Pool {
 public:
  /// At the first backend: the library has been loaded.
  static void find() {
    static const bool is_watched = [] {
      pthread_atfork(nullptr, note_fork, note_fork);
      return true;
    }();
    static_cast<void>(is_watched);
    note(openblas_get_num_threads());
  }
  /// Has the next call compute on so many threads; on one if they cannot be started. Throws device if OpenBLAS cannot
  /// start again those that it ended.
  static void use(int threads) {
    if (is_ended_.load(std::memory_order_relaxed)) {
      if (!can_start_threads(static_cast<size_t>(max_ - 1)))
        fail(ErrorCode::device,
             "OpenBLAS cannot start its threads again, which end at a fork(): raise the limit of processes");
      is_ended_ = false;
    }
    if (threads > max_ && !can_start_threads(static_cast<size_t>(threads - 1))) threads = 1;
    note(threads);
    openblas_set_num_threads(threads);
  }

 private:
  static void note_fork() { is_ended_ = true; }
  static void note(int threads) noexcept {
    int known = max_;
    while (known < threads && !max_.compare_exchange_weak(known, threads)) {
    }
  }

  static inline std::atomic<int> max_ = 1;  ///< Number of threads that it has, with the calling one.
  static inline std::atomic<bool> is_ended_ = false;
};

class OpenblasPlan final : public Plan {
 public:
  OpenblasPlan(const GemmShape& shape, int threads, bool vector) : shape_(shape), threads_(threads), vector_(vector) {
    traits_.reentrant = false;
    traits_.host_bytes = sizeof *this;
  }
  const PlanTraits& traits() const noexcept override { return traits_; }

  void run(const Launch& launch) const override {
    const auto where = GemmOperands::of(shape_);
    const auto* a = static_cast<const float*>(launch.operands[where.a]);
    const auto* b = static_cast<const float*>(launch.operands[where.b]);
    auto* c = static_cast<float*>(launch.operands[where.c]);
    if (shape_.bias) broadcast_bias(static_cast<const float*>(launch.operands[where.bias]), c, shape_.m, shape_.n);
    const float beta = shape_.bias ? 1.0f : 0.0f;
    const auto m = static_cast<blasint>(shape_.m), n = static_cast<blasint>(shape_.n),
               k = static_cast<blasint>(shape_.k);
    Pool::use(threads_);
    if (vector_) {
      // One row of C is the weights times x. Weights stored N×K are read along their rows, K×N across them.
      const auto rows = shape_.b_is_kn ? k : n, columns = shape_.b_is_kn ? n : k;
      cblas_sgemv(CblasRowMajor, shape_.b_is_kn ? CblasTrans : CblasNoTrans, rows, columns, 1.0f, b, columns, a, 1,
                  beta, c, 1);
    } else {
      cblas_sgemm(CblasRowMajor, shape_.trans_a ? CblasTrans : CblasNoTrans, shape_.b_is_kn ? CblasNoTrans : CblasTrans,
                  m, n, k, 1.0f, a, shape_.trans_a ? m : k, b, shape_.b_is_kn ? n : k, beta, c, n);
    }
  }

 private:
  GemmShape shape_;
  int threads_;
  bool vector_;
  PlanTraits traits_;
};

class OpenblasBackend final : public Backend {
 public:
  explicit OpenblasBackend(const DeviceInfo& device) : device_(device) {
    require_library(reinterpret_cast<const void*>(&cblas_sgemm), "cblas_sgemm", "libopenblas");
    // Teams of OpenMP may be smaller than its OpenMP build asks for; it then waits without end.
    if (openblas_get_parallel() == 2)
      fail(ErrorCode::unavailable, "this is OpenBLAS with OpenMP, install the one with its own threads (pthread)");
    Pool::find();
  }

  Versions versions() const override {
    // openblas_get_config() returns a text that starts with `OpenBLAS 0.3.21 …`.
    std::string version = openblas_get_config();
    if (const auto blank = version.find(' '); blank != std::string::npos)
      version = version.substr(blank + 1, version.find(' ', blank + 1) - blank - 1);
    return {{"openblas.gemm", "1+" + version}, {"openblas.core", openblas_get_corename()}};
  }

  SearchSpace space(const Problem& problem) override {
    std::vector<Value> routines = {std::string("gemm")};
    if (GemmShape::of(problem).m == 1) routines.emplace_back(std::string("gemv"));
    return SearchSpace::product({{.name = "routine", .values = std::move(routines)},
                                 {.name = "threads", .values = thread_counts(device_.num_units)}},
                                {});
  }

  Config default_config(const Problem&) override {
    return Config({{"routine", std::string("gemm")}, {"threads", device_.num_units}});
  }

  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext&) override {
    const int threads = thread_count(config, device_);
    const auto shape = GemmShape::of(problem);
    const bool vector = config.text("routine") == "gemv";
    if (vector && shape.m != 1) fail(ErrorCode::unavailable, "sgemv needs m=1, got {}", shape.m);
    return std::make_unique<OpenblasPlan>(shape, threads, vector);
  }

  std::vector<EntryPoint> entry_points() const override {
    return {{"cblas_sgemm", library_of(reinterpret_cast<const void*>(&cblas_sgemm))},
            {"cblas_sgemv", library_of(reinterpret_cast<const void*>(&cblas_sgemv))}};
  }

 private:
  DeviceInfo device_;
};

/// Measured: up to here OpenBLAS takes one thread by itself, and is no slower when asked for one
/// (docs/performance/one_thread.md).
constexpr double kOneThreadFlops = 2 * 262'144;

class OpenblasSolver final : public Solver {
 public:
  std::string_view id() const override { return "openblas.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "OpenBLAS sgemm and sgemv"; }
  std::string_view thread_pool() const override { return "openblas"; }
  Support supports(const Problem& problem, const DeviceInfo& device) const override {
    return supports_host_sgemm(problem, device);
  }
  double one_thread_flops() const override { return kOneThreadFlops; }
  std::unique_ptr<Backend> open(Device& device) const override {
    return std::make_unique<OpenblasBackend>(device.info());
  }
};

}  // namespace
}  // namespace attune

ATTUNE_SOLVER_MODULE(attune::OpenblasSolver)
