// SPDX-License-Identifier: MIT
// MKL through its C interface, linked as its three layers over libgomp (cmake/FindMKLGnuThread.cmake gives the reason).
#include <mkl_cblas.h>
#include <mkl_service.h>

#include "base/error.h"
#include "ops/gemm/gemm_bias.h"
#include "ops/gemm/gemm_op.h"
#include "solver/host_gemm.h"
#include "solver/module.h"
#include "solver/module/openmp_team.h"
#include "solver/own_library.h"
#include "solver/thread_counts.h"
#include "tensor/convert.h"

namespace attune {
namespace {

/// Arguments common to all routines, in MKL's terms.
struct Product {
  CBLAS_TRANSPOSE trans_a, trans_b;
  MKL_INT m, n, k, lda, ldb;
  float beta;
};

Product product_of(const GemmShape& shape) {
  Product product{};
  product.trans_a = shape.trans_a ? CblasTrans : CblasNoTrans;
  product.trans_b = shape.b_is_kn ? CblasNoTrans : CblasTrans;
  product.m = static_cast<MKL_INT>(shape.m);
  product.n = static_cast<MKL_INT>(shape.n);
  product.k = static_cast<MKL_INT>(shape.k);
  product.lda = shape.trans_a ? product.m : product.k;
  product.ldb = shape.b_is_kn ? product.n : product.k;
  product.beta = shape.bias ? 1.0f : 0.0f;
  return product;
}

class MklPlan final : public Plan {
 public:
  MklPlan(const GemmShape& shape, const Config& config, int threads)
      : shape_(shape),
        product_(product_of(shape)),
        threads_(threads),
        vector_(config.text("routine") == "gemv"),
        dynamic_(threads > 1 && config.integer("dynamic") != 0) {
    traits_.reentrant = false;
    traits_.host_bytes = sizeof *this;
  }
  const PlanTraits& traits() const noexcept override { return traits_; }

  void run(const Launch& launch) const override {
    const auto where = GemmOperands::of(shape_);
    const void* a = launch.operands[where.a];
    const void* b = launch.operands[where.b];
    auto* c = static_cast<float*>(launch.operands[where.c]);
    if (shape_.bias) fill_with_bias(launch.operands[where.bias], c);
    const OpenmpTeam team(threads_);
    mkl_set_num_threads(team.size());
    mkl_set_dynamic(dynamic_ ? 1 : 0);
    if (shape_.in == DType::fp32) {
      run_fp32(static_cast<const float*>(a), static_cast<const float*>(b), c);
    } else {
      const auto& p = product_;
      const auto* narrow_a = static_cast<const uint16_t*>(a);
      const auto* narrow_b = static_cast<const uint16_t*>(b);
      const auto call = shape_.in == DType::bf16 ? &cblas_gemm_bf16bf16f32 : &cblas_gemm_f16f16f32;
      call(CblasRowMajor, p.trans_a, p.trans_b, p.m, p.n, p.k, 1.0f, narrow_a, p.lda, narrow_b, p.ldb, p.beta, c, p.n);
    }
  }

 private:
  void fill_with_bias(const void* bias, float* c) const {
    to_float(shape_.in, static_cast<const std::byte*>(bias), {c, static_cast<size_t>(shape_.n)});
    broadcast_bias(c, c + shape_.n, shape_.m - 1, shape_.n);
  }

  void run_fp32(const float* a, const float* b, float* c) const {
    const auto& p = product_;
    if (!vector_) {
      cblas_sgemm(CblasRowMajor, p.trans_a, p.trans_b, p.m, p.n, p.k, 1.0f, a, p.lda, b, p.ldb, p.beta, c, p.n);
    } else if (shape_.b_is_kn) {
      // One row of C is the weights times x. Weights stored K×N are read across their rows, N×K along them.
      cblas_sgemv(CblasRowMajor, CblasTrans, p.k, p.n, 1.0f, b, p.n, a, 1, p.beta, c, 1);
    } else {
      cblas_sgemv(CblasRowMajor, CblasNoTrans, p.n, p.k, 1.0f, b, p.k, a, 1, p.beta, c, 1);
    }
  }

  GemmShape shape_;
  Product product_;
  int threads_;
  bool vector_, dynamic_;
  PlanTraits traits_;
};

class MklBackend final : public Backend {
 public:
  explicit MklBackend(const DeviceInfo& device) : device_(device) {
    for (const auto& [symbol, function] : functions()) require_library(function, symbol, "libmkl_intel_lp64");
  }

  Versions versions() const override {
    MKLVersion version;
    mkl_get_version(&version);
    // MKL_ENABLE_INSTRUCTIONS limits the instructions: the processor is part of the library's identity.
    return {{"mkl.gemm", fmt::format("1+{}.{}.{}", version.MajorVersion, version.MinorVersion, version.UpdateVersion)},
            {"mkl.processor", version.Processor}};
  }

  SearchSpace space(const Problem& problem) override {
    const auto shape = GemmShape::of(problem);
    std::vector<Value> routines = {std::string("gemm")};
    if (shape.m == 1 && shape.in == DType::fp32) routines.emplace_back(std::string("gemv"));
    return SearchSpace::product({{.name = "routine", .values = std::move(routines)},
                                 {.name = "threads", .values = thread_counts(device_.num_units)},
                                 {.name = "dynamic", .values = {int64_t{1}, int64_t{0}}, .active_if = "threads > 1"}},
                                {});
  }

  Config default_config(const Problem&) override {
    std::vector<std::pair<std::string, Value>> values = {{"routine", std::string("gemm")},
                                                         {"threads", device_.num_units}};
    if (device_.num_units > 1) values.emplace_back("dynamic", int64_t{1});
    return Config(std::move(values));
  }

  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext&) override {
    const int threads = thread_count(config, device_);
    const auto shape = GemmShape::of(problem);
    if (config.text("routine") == "gemv" && (shape.m != 1 || shape.in != DType::fp32))
      fail(ErrorCode::unavailable, "sgemv needs m=1 and fp32, got {}", problem.key());
    return std::make_unique<MklPlan>(shape, config, threads);
  }

  std::vector<EntryPoint> entry_points() const override {
    std::vector<EntryPoint> points;
    for (const auto& [symbol, function] : functions()) points.push_back({symbol, library_of(function)});
    return points;
  }

 private:
  static std::vector<std::pair<const char*, const void*>> functions() {
    return {{"cblas_sgemm", reinterpret_cast<const void*>(&cblas_sgemm)},
            {"cblas_sgemv", reinterpret_cast<const void*>(&cblas_sgemv)},
            {"cblas_gemm_bf16bf16f32", reinterpret_cast<const void*>(&cblas_gemm_bf16bf16f32)},
            {"cblas_gemm_f16f16f32", reinterpret_cast<const void*>(&cblas_gemm_f16f16f32)}};
  }

  DeviceInfo device_;
};

class MklSolver final : public Solver {
 public:
  std::string_view id() const override { return "mkl.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "MKL sgemm and sgemv, bf16 and fp16 products in fp32"; }
  std::string_view thread_pool() const override { return "libgomp"; }
  Support supports(const Problem& problem, const DeviceInfo& device) const override {
    if (const Support support = supports_host_gemm(problem, device, WeightForms::plain_or_packed); !support.yes)
      return support;
    if (GemmShape::of(problem).out != DType::fp32) return Support::no("supports fp32 results only");
    return {};
  }
  std::unique_ptr<Backend> open(Device& device) const override { return std::make_unique<MklBackend>(device.info()); }
};

}  // namespace
}  // namespace attune

ATTUNE_SOLVER_MODULE(attune::MklSolver)
