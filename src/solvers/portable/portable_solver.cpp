// SPDX-License-Identifier: MIT
// A product in plain vectorised C++: the fallback for types that no library supports (fp16), and the smallest example
// of a solver. Rows of x and of the weights are read along K, so both must be untransposed.
#include <array>
#include <optional>
#include <utility>

#include "base/error.h"
#include "ops/gemm/gemm_op.h"
#include "portable/sources_hash.h"
#include "solver/host_epilogue.h"
#include "solver/host_gemm.h"
#include "solver/registry.h"
#include "solver/static/static_space_backend.h"
#include "tensor/convert.h"

namespace attune {
namespace {

constexpr int kLanes = 16;
typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float))));

template <typename Stored>
float widen(Stored value) {
  if constexpr (std::is_same_v<Stored, uint16_t>)
    return from_bf16(value);
  else
    return static_cast<float>(value);
}
template <typename Stored>
Stored narrow(float value) {
  if constexpr (std::is_same_v<Stored, uint16_t>)
    return to_bf16(value);
  else
    return static_cast<Stored>(value);
}

/// Loads kLanes stored elements as floats.
template <typename Stored>
inline __attribute__((always_inline)) Lanes load(const Stored* stored) {
  if constexpr (std::is_same_v<Stored, float>) {
    Lanes lanes;
    __builtin_memcpy(&lanes, stored, sizeof lanes);
    return lanes;
  } else if constexpr (std::is_same_v<Stored, uint16_t>) {
    typedef uint16_t Halves __attribute__((vector_size(kLanes * sizeof(uint16_t))));
    typedef uint32_t Words __attribute__((vector_size(kLanes * sizeof(uint32_t))));
    Halves raw;
    __builtin_memcpy(&raw, stored, sizeof raw);
    return reinterpret_cast<Lanes>(__builtin_convertvector(raw, Words) << 16);
  } else {
    typedef _Float16 Halves __attribute__((vector_size(kLanes * sizeof(_Float16))));
    Halves raw;
    __builtin_memcpy(&raw, stored, sizeof raw);
    return __builtin_convertvector(raw, Lanes);
  }
}

/// Computes a block of kRows × kColumns dot products along K.
template <typename Stored, int kRows, int kColumns>
inline __attribute__((always_inline)) void dot_block(const Stored* a, const Stored* b, int64_t k,
                                                     float (&sums)[kRows][kColumns]) {
  Lanes total[kRows][kColumns] = {};
  const int64_t whole = k / kLanes * kLanes;
  for (int64_t at = 0; at < whole; at += kLanes) {
    Lanes right[kColumns];
    for (int j = 0; j < kColumns; ++j) right[j] = load(b + j * k + at);
    for (int i = 0; i < kRows; ++i) {
      const Lanes left = load(a + i * k + at);
      for (int j = 0; j < kColumns; ++j) total[i][j] += left * right[j];
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      float sum = 0;
      for (int lane = 0; lane < kLanes; ++lane) sum += total[i][j][lane];
      for (int64_t at = whole; at < k; ++at) sum += widen(a[i * k + at]) * widen(b[j * k + at]);
      sums[i][j] = sum;
    }
  }
}

/// One call. `epilogue` is null for a product with at most a bias.
struct Call {
  const GemmShape& shape;
  const void *a, *b, *bias;
  const HostEpilogue* epilogue;
  void* c;
};

template <typename In, typename Out, int kRows, int kColumns>
inline __attribute__((always_inline)) void edge_block(const Call& call, int64_t i, int64_t j) {
  const GemmShape& shape = call.shape;
  float sums[kRows][kColumns] = {};
  if (shape.epilogue.alpha != Factor::zero) {
    dot_block<In, kRows, kColumns>(static_cast<const In*>(call.a) + i * shape.k,
                                   static_cast<const In*>(call.b) + j * shape.k, shape.k, sums);
  }
  const auto* bias = static_cast<const In*>(call.bias);
  auto* c = static_cast<Out*>(call.c);
  for (int y = 0; y < kRows; ++y) {
    for (int x = 0; x < kColumns; ++x) {
      c[(i + y) * shape.n + j + x] =
          narrow<Out>(call.epilogue != nullptr ? call.epilogue->finish(sums[y][x], i + y, j + x)
                                               : sums[y][x] + (bias != nullptr ? widen(bias[j + x]) : 0.0f));
    }
  }
}

template <typename In, typename Out, int kRows, int kColumns>
inline __attribute__((always_inline)) void multiply_all(const Call& call) {
  const GemmShape& shape = call.shape;
  const int64_t rows = shape.m / kRows * kRows, columns = shape.n / kColumns * kColumns;
  for (int64_t j = 0; j < columns; j += kColumns) {
    for (int64_t i = 0; i < rows; i += kRows) edge_block<In, Out, kRows, kColumns>(call, i, j);
    for (int64_t i = rows; i < shape.m; ++i) edge_block<In, Out, 1, kColumns>(call, i, j);
  }
  for (int64_t j = columns; j < shape.n; ++j) {
    for (int64_t i = 0; i < shape.m; ++i) edge_block<In, Out, 1, 1>(call, i, j);
  }
}

using Kernel = void (*)(const Call&);

// One function per (types, block), cloned for the machine's vector width by the target attribute's dispatch.
template <typename In, typename Out, int kRows, int kColumns>
struct Variant {
  __attribute__((target("arch=x86-64-v4"), optimize("O3"))) static void v4(const Call& call) {
    multiply_all<In, Out, kRows, kColumns>(call);
  }
  __attribute__((target("arch=x86-64-v3"), optimize("O3"))) static void v3(const Call& call) {
    multiply_all<In, Out, kRows, kColumns>(call);
  }
  static void v2(const Call& call) { multiply_all<In, Out, kRows, kColumns>(call); }
  static Kernel here() {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v4")) return v4;
    if (__builtin_cpu_supports("x86-64-v3")) return v3;
    return v2;
  }
};

template <typename In, typename Out>
Kernel kernel_for_block(std::string_view block) {
  if (block == "1x4") return Variant<In, Out, 1, 4>::here();
  if (block == "2x4") return Variant<In, Out, 2, 4>::here();
  if (block == "4x4") return Variant<In, Out, 4, 4>::here();
  fail(ErrorCode::unavailable, "the block must be 1x4, 2x4 or 4x4, got '{}'", block);
}

Kernel kernel_for(const GemmShape& shape, std::string_view block) {
  if (shape.in == DType::fp32) return kernel_for_block<float, float>(block);
  if (shape.in == DType::bf16)
    return shape.out == DType::fp32 ? kernel_for_block<uint16_t, float>(block)
                                    : kernel_for_block<uint16_t, uint16_t>(block);
  return shape.out == DType::fp32 ? kernel_for_block<_Float16, float>(block)
                                  : kernel_for_block<_Float16, _Float16>(block);
}

class PortablePlan final : public Plan {
 public:
  PortablePlan(const GemmShape& shape, Kernel kernel) : shape_(shape), kernel_(kernel) {
    traits_.host_bytes = sizeof *this;
    // One thread, and one function for every block: a chain of sums in each lane, then the lanes in order. The steps
    // after the last whole vector are scalar code, which a compiler may contract differently in each block.
    traits_.states = shape.k % kLanes == 0 ? Requirement::batch_invariant : Requirement::deterministic;
  }
  const PlanTraits& traits() const noexcept override { return traits_; }
  void run(const Launch& launch) const override {
    const auto where = GemmOperands::of(shape_);
    const void* bias = shape_.bias ? launch.operands[where.bias] : nullptr;
    std::optional<HostEpilogue> epilogue;
    if (!shape_.epilogue.is_none()) epilogue.emplace(shape_, launch);
    kernel_({shape_, launch.operands[where.a], launch.operands[where.b], bias, epilogue ? &*epilogue : nullptr,
             launch.operands[where.c]});
  }

 private:
  GemmShape shape_;
  Kernel kernel_;
  PlanTraits traits_;
};

class PortableBackend final : public StaticSpaceBackend {
 public:
  using StaticSpaceBackend::StaticSpaceBackend;
  Versions versions() const override {
    Versions all = kernel_versions();
    all.emplace("portable.gemm", "1");
    return all;
  }
  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext&) override {
    const auto shape = GemmShape::of(problem);
    return std::make_unique<PortablePlan>(shape, kernel_for(shape, config.text("block")));
  }
};

class PortableSolver final : public Solver, public StaticSpace {
 public:
  std::string_view id() const override { return "portable.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "vectorised loops of this program, every type, one thread"; }
  Support supports(const Problem& problem, const DeviceInfo& device) const override {
    if (const Support support = supports_host_gemm(problem, device, WeightForms::plain, kWholeEpilogue); !support.yes)
      return support;
    const auto shape = GemmShape::of(problem);
    if (shape.trans_a || shape.b_is_kn) return Support::no("reads x and the weights along K only");
    if (shape.out != shape.in && shape.out != DType::fp32) return Support::no("writes the input's type or fp32");
    return {};
  }
  const StaticSpace* static_space() const override { return this; }
  Versions kernel_versions() const override { return {{"kernel.portable.gemm", portable::kSourcesHash}}; }
  SearchSpace space(const Problem&, const DeviceInfo&) const override {
    return SearchSpace::product(
        {{.name = "block", .values = {std::string("4x4"), std::string("2x4"), std::string("1x4")}}}, {});
  }
  Config default_config(const Problem&, const DeviceInfo&) const override {
    return Config({{"block", std::string("4x4")}});
  }
  SearchSpace invariant_space(const Problem& problem, const DeviceInfo& device) const override {
    return GemmShape::of(problem).k % kLanes == 0 ? space(problem, device) : SearchSpace();
  }
  std::unique_ptr<Backend> open(Device& device) const override {
    return std::make_unique<PortableBackend>(*this, device.info());
  }
};

}  // namespace

void register_portable_solver(Registry& registry);
void register_portable_solver(Registry& registry) { registry.add(std::make_unique<PortableSolver>()); }

}  // namespace attune
