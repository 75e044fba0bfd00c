// SPDX-License-Identifier: MIT
// Quantised products by oneDNN's matmul. With scales given at the call oneDNN 2.6 has nothing but its reference, so its
// matmul computes the sums and scaled_sums.cpp does the rest. Two ways: int8·int8 → int32, or both matrices converted
// to bf16, with their scales of blocks (dequantise.cpp), and multiplied in fp32. Compiled once for each version of the
// library (onednn_library.h).
#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "core/candidate.h"
#include "ops/quantised_gemm/quantised_gemm.h"
#include "solver/host_gemm.h"
#include "solver/module/openmp_team.h"
#include "solver/own_library.h"
#include "solver/thread_counts.h"
#include "solvers/onednn/dequantise.h"
#include "solvers/onednn/onednn_functions.h"
#include "solvers/onednn/onednn_library.h"
#include "solvers/onednn/onednn_solvers.h"
#include "solvers/onednn/scaled_sums.h"

namespace attune {
namespace {

/// The values of the parameter `way`.
enum class ProductWay : uint8_t { int8, dequantise };
constexpr std::string_view kWays[] = {"int8", "dequantise"};
/// The first that a processor has is the default config's.
constexpr ProductWay kWaysInOrder[] = {ProductWay::int8, ProductWay::dequantise};

/// As many products of two int8 as an int32 holds in any case: 2^14 each.
constexpr int64_t kMaxInt8Products = 131'071;

constexpr const char* kNoInt8 = "way=int8 multiplies int8 only";
constexpr const char* kNoVnni = "way=int8 needs VNNI: without it oneDNN's sums of int8 saturate";
constexpr const char* kNoBf16 = "way=dequantise needs AVX-512, without which oneDNN has no bf16";

std::string too_long(int64_t k) {
  return fmt::format("way=int8 sums at most {} products, k is {}", kMaxInt8Products, k);
}

/// Why a way does not compute a problem on a processor; empty: it does.
std::string why_not(ProductWay way, const QuantisedGemm& shape, bool has_vnni, bool has_avx512) {
  if (way == ProductWay::dequantise) return has_avx512 ? "" : kNoBf16;
  if (shape.in != DType::int8) return kNoInt8;
  if (!has_vnni) return kNoVnni;
  return shape.k <= kMaxInt8Products ? "" : too_long(shape.k);
}

/// Whether oneDNN uses a set of instructions here; ONEDNN_MAX_CPU_ISA may forbid it.
bool uses(dnnl::cpu_isa set) {
  const auto used = static_cast<unsigned>(dnnl::get_effective_cpu_isa()), wanted = static_cast<unsigned>(set);
  return (used & wanted) == wanted;
}

std::string why_not_here(ProductWay way, const QuantisedGemm& shape) {
  return why_not(way, shape, uses(dnnl::cpu_isa::avx512_core_vnni) || uses(dnnl::cpu_isa::avx2_vnni),
                 uses(dnnl::cpu_isa::avx512_core));
}

/// Whether an implementation computes the sums of a way right. oneDNN 3.7 offers brgemm for AVX-512 and AVX2 without
/// VNNI on processors that have it, too, and its pairs of int8 products saturate at 16 bits.
bool is_exact(std::string_view implementation, ProductWay way) {
  if (is_reference(implementation)) return false;
  return way != ProductWay::int8 || (!implementation.ends_with(":avx512_core") && !implementation.ends_with(":avx2"));
}

MatmulDescription describe_sums(const QuantisedGemm& shape, ProductWay way) {
  using tag = dnnl::memory::format_tag;
  using type = dnnl::memory::data_type;
  const auto in = way == ProductWay::int8 ? type::s8 : type::bf16,
             out = way == ProductWay::int8 ? type::s32 : type::f32;
  return {.a = dnnl::memory::desc({shape.m, shape.k}, in, tag::ab),
          .b = dnnl::memory::desc({shape.k, shape.n}, in, tag::ba),
          .bias = {},
          .c = dnnl::memory::desc({shape.m, shape.n}, out, tag::ab)};
}

/// Parts of a plan's workspace, as offsets: converted matrices, the factors of their rows, the sums, oneDNN's
/// scratchpad.
struct QuantisedWorkspace {
  uint64_t a = 0, b = 0, a_factors = 0, b_factors = 0, sums = 0, scratchpad = 0, bytes = 0;

  QuantisedWorkspace(const QuantisedGemm& shape, ProductWay way, uint64_t scratchpad_bytes) {
    const auto placed = [&](uint64_t size) { return std::exchange(bytes, (bytes + size + 63) / 64 * 64); };
    const auto m = static_cast<uint64_t>(shape.m), n = static_cast<uint64_t>(shape.n),
               k = static_cast<uint64_t>(shape.k);
    if (way == ProductWay::dequantise) {
      a = placed(m * k * sizeof(uint16_t));
      b = placed(n * k * sizeof(uint16_t));
    }
    if (shape.has_blocks()) {
      a_factors = placed(m * sizeof(float));
      b_factors = placed(n * sizeof(float));
    }
    sums = placed(m * n * sizeof(int32_t));
    scratchpad = placed(scratchpad_bytes);
  }
};

class OnednnQuantisedPlan final : public Plan {
 public:
  /// `alone`: for one thread, used where the team of `threads` cannot be had; nothing if `threads` is 1.
  OnednnQuantisedPlan(const QuantisedGemm& shape, ProductWay way, PreparedMatmul chosen,
                      std::optional<PreparedMatmul> alone, const dnnl::engine& engine, int threads)
      : shape_(shape),
        sums_shape_(shape),
        where_(QuantisedOperands::of(shape)),
        way_(way),
        threads_(threads),
        stream_(engine),
        chosen_(std::move(chosen)),
        alone_(std::move(alone)),
        workspace_(shape, way, std::max(chosen_.workspace_bytes(), alone_ ? alone_->workspace_bytes() : 0)) {
    if (shape.has_blocks()) sums_shape_.a_scales = sums_shape_.b_scales = {};
    traits_.workspace_bytes = workspace_.bytes;
    traits_.reentrant = false;
    traits_.host_bytes = sizeof *this + chosen_.host_bytes() + (alone_ ? alone_->host_bytes() : 0);
  }
  const PlanTraits& traits() const noexcept override { return traits_; }

  void run(const Launch& launch) const override {
    const OpenmpTeam team(threads_);
    auto* const workspace = static_cast<std::byte*>(launch.workspace);
    MatmulOperands operands{launch.operands[where_.a], launch.operands[where_.b], nullptr, workspace + workspace_.sums,
                            workspace + workspace_.scratchpad};
    ScaledSums rest{.shape = sums_shape_,
                    .sums = operands.c,
                    .is_float = way_ == ProductWay::dequantise,
                    .a_scale = static_cast<const float*>(launch.operands[where_.a_scale]),
                    .b_scale = static_cast<const float*>(launch.operands[where_.b_scale]),
                    .bias = shape_.bias ? launch.operands[where_.bias] : nullptr,
                    .c = launch.operands[where_.c],
                    .in_double = shape_.has_blocks()};
    if (way_ == ProductWay::dequantise) {
      auto* const a_factors = reinterpret_cast<float*>(workspace + workspace_.a_factors);
      auto* const b_factors = reinterpret_cast<float*>(workspace + workspace_.b_factors);
      operands.a = converted({shape_.in, operands.a, shape_.m, shape_.k, rest.a_scale, shape_.scale, shape_.a_scales},
                             workspace + workspace_.a, a_factors, team.size());
      operands.b = converted({shape_.in, operands.b, shape_.n, shape_.k, rest.b_scale, shape_.scale, shape_.b_scales},
                             workspace + workspace_.b, b_factors, team.size());
      if (shape_.has_blocks()) {
        rest.a_scale = a_factors;
        rest.b_scale = b_factors;
      }
    }
    const PreparedMatmul& used = team.size() == threads_ ? chosen_ : *alone_;
    guarded(ErrorCode::device, [&] { used.execute(stream_, operands); });
    scale_sums(rest, team.size());
  }

 private:
  static void* converted(const ScaledMatrix& matrix, std::byte* to, float* factors, int threads) {
    auto* const elements = reinterpret_cast<uint16_t*>(to);
    if (matrix.dtype == DType::int8)
      convert_to_bf16(static_cast<const int8_t*>(matrix.elements), elements, matrix.rows * matrix.k, threads);
    else
      dequantise_to_bf16(matrix, elements, factors, threads);
    return to;
  }

  QuantisedGemm shape_, sums_shape_;  ///< Of the problem; of the sums, whose scales are of rows.
  QuantisedOperands where_;
  ProductWay way_;
  int threads_;
  mutable dnnl::stream stream_;
  PreparedMatmul chosen_;
  std::optional<PreparedMatmul> alone_;
  QuantisedWorkspace workspace_;
  PlanTraits traits_;
};

class OnednnQuantisedBackend final : public Backend {
 public:
  OnednnQuantisedBackend(const OnednnQuantisedSolver& solver, const DeviceInfo& device)
      : solver_(solver), device_(device), engine_(dnnl::engine::kind::cpu, 0) {
    require_library(reinterpret_cast<const void*>(&dnnl_primitive_execute), "dnnl_primitive_execute", onednn_file());
  }

  Versions versions() const override { return onednn_versions(solver_.id(), solver_.version()); }

  /// A list of rows: which implementations there are depends on the way.
  SearchSpace space(const Problem& problem) override {
    const auto shape = QuantisedGemm::of(problem);
    std::vector<Config> rows;
    for (const ProductWay way : kWaysInOrder) {
      for (const std::string& name : names(shape, way)) {
        for (const Value& threads : thread_counts(device_.num_units))
          rows.push_back(config_of(shape, way, name, threads));
      }
    }
    if (rows.empty()) fail_without_any(problem);
    return SearchSpace::listed(std::move(rows));
  }

  Config default_config(const Problem& problem) override {
    const auto shape = QuantisedGemm::of(problem);
    for (const ProductWay way : kWaysInOrder) {
      if (const auto offered = names(shape, way); !offered.empty())
        return config_of(shape, way, offered.front(), device_.num_units);
    }
    fail_without_any(problem);
  }

  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext&) override {
    const int threads = thread_count(config, device_);
    const auto shape = QuantisedGemm::of(problem);
    const ProductWay way = way_of(config);
    if (const std::string why = why_not_here(way, shape); !why.empty()) fail(ErrorCode::unavailable, "{}", why);
    const std::string& wanted = config.text("impl");
    const auto description = describe_sums(shape, way);
    const auto found = [&] {
      const OpenmpThreads guard(threads);
      return first_implementation(description, engine_, [&](const std::string& name, const auto&) {
        return name == wanted && is_exact(name, way);
      });
    }();
    if (!found) {
      fail(ErrorCode::unavailable,
           "oneDNN does not offer the implementation for way={} with this number of threads: '{}'", config.text("way"),
           wanted);
    }
    std::optional<PreparedMatmul> alone;
    if (threads > 1) {
      const OpenmpThreads guard(1);
      alone = prepared(implementation_like(*found, description, engine_));
    }
    const OpenmpThreads guard(threads);
    return std::make_unique<OnednnQuantisedPlan>(shape, way, prepared(*found), std::move(alone), engine_, threads);
  }

  std::vector<EntryPoint> entry_points() const override {
    return {{"dnnl_primitive_execute", library_of(reinterpret_cast<const void*>(&dnnl_primitive_execute))}};
  }

 private:
  [[noreturn]] static void fail_without_any(const Problem& problem) {
    fail(ErrorCode::unavailable, "oneDNN offers nothing but its reference here for the product: {}", problem.key());
  }

  static Config config_of(const QuantisedGemm& shape, ProductWay way, const std::string& implementation,
                          const Value& threads) {
    std::vector<std::pair<std::string, Value>> values = {
        {"way", std::string(kWays[static_cast<size_t>(way)])}, {"impl", implementation}, {"threads", threads}};
    // This solver reads weights of bpreshuffle=1 unpacked.
    if (shape.packed) values.emplace_back(kLayoutParameter, std::string(kPlainLayout));
    return Config(std::move(values));
  }

  static ProductWay way_of(const Config& config) {
    const std::string& way = config.text("way");
    const auto found = std::find(std::begin(kWays), std::end(kWays), way);
    if (found == std::end(kWays)) fail(ErrorCode::unavailable, "the way must be int8 or dequantise, got '{}'", way);
    return static_cast<ProductWay>(found - std::begin(kWays));
  }

  /// Names of the implementations offered for all cores, in oneDNN's order of preference, without the reference; none
  /// if the way does not compute the problem here.
  std::vector<std::string> names(const QuantisedGemm& shape, ProductWay way) const {
    std::vector<std::string> offered;
    if (!why_not_here(way, shape).empty()) return offered;
    const OpenmpThreads guard(static_cast<int>(device_.num_units));
    for_each_implementation(describe_sums(shape, way), engine_, [&](const std::string& name, const auto&) {
      if (is_exact(name, way)) offered.push_back(name);
      return true;
    });
    return offered;
  }

  /// Generates an implementation's code, for the calling thread's number of OpenMP threads.
  PreparedMatmul prepared(const dnnl::matmul::primitive_desc& chosen) const {
    return guarded(ErrorCode::unavailable, [&] { return PreparedMatmul(chosen, engine_, false); });
  }

  const OnednnQuantisedSolver& solver_;
  DeviceInfo device_;
  dnnl::engine engine_;
};

}  // namespace

Support OnednnQuantisedSolver::supports(const Problem& problem, const DeviceInfo& device) const {
  if (device.kind != "host") return Support::no("runs on a host only");
  if (problem.op() != family_.op) return Support::no(fmt::format("computes {} only", family_.op));
  const auto shape = QuantisedGemm::of(problem);
  const InstructionSets sets = device.instruction_sets();
  const bool has_vnni = sets.has(InstructionSet::avx512_vnni) || sets.has(InstructionSet::avx_vnni);
  std::string reasons;
  for (const ProductWay way : kWaysInOrder) {
    const std::string why = why_not(way, shape, has_vnni, sets.has(InstructionSet::avx512));
    if (why.empty()) return {};
    reasons += (reasons.empty() ? "" : "; ") + why;
  }
  return Support::no(reasons);
}

std::unique_ptr<Backend> OnednnQuantisedSolver::open(Device& device) const {
  return std::make_unique<OnednnQuantisedBackend>(*this, device.info());
}

}  // namespace attune
