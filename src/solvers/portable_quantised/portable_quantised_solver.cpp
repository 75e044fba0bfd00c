// SPDX-License-Identifier: MIT
// Quantised products in plain vectorised C++: the fallback where no library computes them.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "core/candidate.h"
#include "ops/packed_weights.h"
#include "ops/quantised_gemm/quantised_gemm.h"
#include "ops/quantised_gemm/quantised_gemm_op.h"
#include "portable_quantised/sources_hash.h"
#include "solver/registry.h"
#include "solver/static/static_space_backend.h"
#include "tensor/convert.h"
#include "tensor/narrow_float.h"

namespace attune {
namespace {

/// As many products of two int8 as an int32 holds in any case: 2^14 each.
constexpr int64_t kMaxProducts = 131'071;

constexpr int kLanes = 16;
constexpr int kMaxColumns = 4;
typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float))));

/// The operands of a call.
struct Call {
  const QuantisedGemm& shape;
  const int8_t *a, *b;
  const void *a_scale, *b_scale;
  const void* bias;  ///< Null: none.
  void* c;
  const float* value_of_code;  ///< Of a float of eight or four bits; null: int8.
  /// For floats: all rows of a, then kMaxColumns of b, as long as stride(). With scales of blocks, then the factor of
  /// each of these rows, in double.
  float* workspace;

  float scale_of_a(int64_t row) const {
    return static_cast<const float*>(a_scale)[shape.a_scales.index(row, 0, shape.k)];
  }
  float scale_of_b(int64_t row) const {
    return static_cast<const float*>(b_scale)[shape.b_scales.index(row, 0, shape.k)];
  }
  int64_t stride() const { return (shape.k + kLanes - 1) / kLanes * kLanes; }
  float* wide_b() const { return workspace + shape.m * stride(); }
  double* factors_of_a() const {
    return reinterpret_cast<double*>(workspace + (shape.m + kMaxColumns) * stride());  // A multiple of 64 bytes.
  }
  double* factors_of_b() const { return factors_of_a() + shape.m; }
  int64_t row_bytes() const { return bits(shape.in) == 4 ? (shape.k + 1) / 2 : shape.k; }
  /// Writes a row as floats, with zeros at its end.
  void widen_row(const int8_t* stored, float* wide) const {
    if (bits(shape.in) == 4) {
      for (int64_t at = 0; at < shape.k; ++at)
        wide[at] = value_of_code[static_cast<uint8_t>(stored[at / 2]) >> (at % 2 * 4) & 15];
    } else {
      for (int64_t at = 0; at < shape.k; ++at) wide[at] = value_of_code[static_cast<uint8_t>(stored[at])];
    }
    for (int64_t at = shape.k; at < stride(); ++at) wide[at] = 0;
  }
  /// Returns a scale of blocks.
  float scale(const void* scales, int64_t index) const {
    return shape.scale == DType::e8m0 ? decode_e8m0(static_cast<const uint8_t*>(scales)[index])
                                      : static_cast<const float*>(scales)[index];
  }
  /// Multiplies a widened row by its scales of blocks over the returned factor, a power of two near the largest of
  /// them: so no element overflows, and one that vanishes does not count.
  double scale_row(const void* scales, const ScaleGroups& groups, int64_t row, float* wide) const {
    const int64_t count = groups.num_columns(shape.k), first = groups.index(row, 0, shape.k);
    int exponent = 0;
    for (int64_t i = 0, num_found = 0; i < count; ++i) {
      const float one = scale(scales, first + i);
      if (std::isfinite(one) && one != 0)
        exponent = num_found++ == 0 ? std::ilogb(one) : std::max(exponent, std::ilogb(one));
    }
    for (int64_t i = 0; i < count; ++i) {
      const float one = std::ldexp(scale(scales, first + i), -exponent);
      const int64_t end = std::min(shape.k, (i + 1) * groups.depth);
      for (int64_t at = i * groups.depth; at < end; ++at) wide[at] *= one;
    }
    return std::ldexp(1.0, exponent);
  }
};

template <typename Out>
float widen(Out value) {
  if constexpr (std::is_same_v<Out, uint16_t>)
    return from_bf16(value);
  else
    return static_cast<float>(value);
}
template <typename Out>
Out narrow(float value) {
  if constexpr (std::is_same_v<Out, uint16_t>)
    return to_bf16(value);
  else
    return static_cast<Out>(value);
}

/// Adds a block of kRows × kColumns dot products over `count` elements of rows that lie `k` apart.
template <int kRows, int kColumns>
inline __attribute__((always_inline)) void add_dots(const int8_t* __restrict a, const int8_t* __restrict b, int64_t k,
                                                    int64_t count, int64_t (&sums)[kRows][kColumns]) {
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      int32_t sum = 0;
      for (int64_t at = 0; at < count; ++at) sum += int32_t{a[i * k + at]} * int32_t{b[j * k + at]};
      sums[i][j] += sum;
    }
  }
}

/// The same of floats, in lanes that are added in order: one order for all blocks.
template <int kRows, int kColumns>
inline __attribute__((always_inline)) void wide_dots(const float* a, const float* b, int64_t stride,
                                                     float (&sums)[kRows][kColumns]) {
  Lanes total[kRows][kColumns] = {};
  for (int64_t at = 0; at < stride; at += kLanes) {
    Lanes right[kColumns];
    for (int j = 0; j < kColumns; ++j) __builtin_memcpy(&right[j], b + j * stride + at, sizeof(Lanes));
    for (int i = 0; i < kRows; ++i) {
      Lanes left;
      __builtin_memcpy(&left, a + i * stride + at, sizeof left);
      for (int j = 0; j < kColumns; ++j) total[i][j] += left * right[j];
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      for (int lane = 0; lane < kLanes; ++lane) sums[i][j] += total[i][j][lane];
    }
  }
}

template <typename Out, int kRows, int kColumns>
inline __attribute__((always_inline)) void compute_block(const Call& call, int64_t i, int64_t j) {
  const QuantisedGemm& shape = call.shape;
  float sums[kRows][kColumns] = {};
  if (call.value_of_code != nullptr) {
    wide_dots<kRows, kColumns>(call.workspace + i * call.stride(), call.wide_b(), call.stride(), sums);
  } else {
    int64_t exact[kRows][kColumns] = {};
    for (int64_t at = 0; at < shape.k; at += kMaxProducts) {
      add_dots<kRows, kColumns>(call.a + i * shape.k + at, call.b + j * shape.k + at, shape.k,
                                std::min(kMaxProducts, shape.k - at), exact);
    }
    for (int y = 0; y < kRows; ++y) {
      for (int x = 0; x < kColumns; ++x) sums[y][x] = static_cast<float>(exact[y][x]);
    }
  }
  const auto* bias = static_cast<const Out*>(call.bias);
  auto* c = static_cast<Out*>(call.c);
  for (int y = 0; y < kRows; ++y) {
    for (int x = 0; x < kColumns; ++x) {
      const float product =
          shape.has_blocks()
              ? static_cast<float>(double{sums[y][x]} * call.factors_of_a()[i + y] * call.factors_of_b()[x])
              : sums[y][x] * call.scale_of_a(i + y) * call.scale_of_b(j + x);
      c[(i + y) * shape.n + j + x] = narrow<Out>(bias != nullptr ? product + widen(bias[j + x]) : product);
    }
  }
}

/// Makes the rows of b that a block of columns reads ready.
inline void widen_columns(const Call& call, int64_t j, int64_t count) {
  for (int64_t x = 0; call.value_of_code != nullptr && x < count; ++x) {
    float* const wide = call.wide_b() + x * call.stride();
    call.widen_row(call.b + (j + x) * call.row_bytes(), wide);
    if (call.shape.has_blocks())
      call.factors_of_b()[x] = call.scale_row(call.b_scale, call.shape.b_scales, j + x, wide);
  }
}

template <typename Out, int kRows, int kColumns>
inline __attribute__((always_inline)) void multiply_all(const Call& call) {
  static_assert(kColumns <= kMaxColumns);
  const QuantisedGemm& shape = call.shape;
  const int64_t rows = shape.m / kRows * kRows, columns = shape.n / kColumns * kColumns;
  for (int64_t i = 0; call.value_of_code != nullptr && i < shape.m; ++i) {
    float* const wide = call.workspace + i * call.stride();
    call.widen_row(call.a + i * call.row_bytes(), wide);
    if (shape.has_blocks()) call.factors_of_a()[i] = call.scale_row(call.a_scale, shape.a_scales, i, wide);
  }
  for (int64_t j = 0; j < columns; j += kColumns) {
    widen_columns(call, j, kColumns);
    for (int64_t i = 0; i < rows; i += kRows) compute_block<Out, kRows, kColumns>(call, i, j);
    for (int64_t i = rows; i < shape.m; ++i) compute_block<Out, 1, kColumns>(call, i, j);
  }
  for (int64_t j = columns; j < shape.n; ++j) {
    widen_columns(call, j, 1);
    for (int64_t i = 0; i < shape.m; ++i) compute_block<Out, 1, 1>(call, i, j);
  }
}

using Kernel = void (*)(const Call&);

/// One function for each (type, block) and level of vectors.
template <typename Out, int kRows, int kColumns>
struct Variant {
  __attribute__((target("arch=x86-64-v4"), optimize("O3"))) static void v4(const Call& call) {
    multiply_all<Out, kRows, kColumns>(call);
  }
  __attribute__((target("arch=x86-64-v3"), optimize("O3"))) static void v3(const Call& call) {
    multiply_all<Out, kRows, kColumns>(call);
  }
  __attribute__((optimize("O3"))) static void v2(const Call& call) { multiply_all<Out, kRows, kColumns>(call); }
  static Kernel here() {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v4")) return v4;
    if (__builtin_cpu_supports("x86-64-v3")) return v3;
    return v2;
  }
};

template <typename Out>
Kernel kernel_for_block(std::string_view block) {
  if (block == "1x4") return Variant<Out, 1, 4>::here();
  if (block == "2x4") return Variant<Out, 2, 4>::here();
  if (block == "4x4") return Variant<Out, 4, 4>::here();
  fail(ErrorCode::unavailable, "the block must be 1x4, 2x4 or 4x4, got '{}'", block);
}

class PortablePlan final : public Plan {
 public:
  PortablePlan(const QuantisedGemm& shape, Kernel kernel)
      : shape_(shape), where_(QuantisedOperands::of(shape)), kernel_(kernel) {
    traits_.host_bytes = sizeof *this;
    // Sums are exact, or have one order, and each element is finished in the same way.
    traits_.states = Requirement::batch_invariant;
    if (shape.in == DType::int8) return;
    const int64_t stride = (shape.k + kLanes - 1) / kLanes * kLanes;
    const int64_t rows = shape.m + kMaxColumns;
    traits_.workspace_bytes = static_cast<uint64_t>(rows * stride) * sizeof(float);
    if (shape.has_blocks()) traits_.workspace_bytes += static_cast<uint64_t>(rows) * sizeof(double);
    for (size_t i = 0; i < value_of_code_.size(); ++i) {
      const auto code = static_cast<std::byte>(i);
      to_float(shape.in, &code, std::span(value_of_code_).subspan(i, 1));
    }
  }
  const PlanTraits& traits() const noexcept override { return traits_; }
  void run(const Launch& launch) const override {
    const auto at = [&](size_t operand) { return launch.operands[operand]; };
    kernel_({shape_, static_cast<const int8_t*>(at(where_.a)), static_cast<const int8_t*>(at(where_.b)),
             at(where_.a_scale), at(where_.b_scale), shape_.bias ? at(where_.bias) : nullptr, at(where_.c),
             shape_.in == DType::int8 ? nullptr : value_of_code_.data(), static_cast<float*>(launch.workspace)});
  }

 private:
  QuantisedGemm shape_;
  QuantisedOperands where_;
  Kernel kernel_;
  std::array<float, 256> value_of_code_{};
  PlanTraits traits_;
};

class PortableBackend final : public StaticSpaceBackend {
 public:
  PortableBackend(std::string_view id, const StaticSpace& stated, const DeviceInfo& device)
      : StaticSpaceBackend(stated, device), id_(id) {}
  Versions versions() const override {
    Versions all = kernel_versions();
    all.emplace(id_, "1");
    return all;
  }
  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext&) override {
    const auto shape = QuantisedGemm::of(problem);
    const auto kernel_of = shape.out == DType::bf16 ? kernel_for_block<uint16_t> : kernel_for_block<_Float16>;
    return std::make_unique<PortablePlan>(shape, kernel_of(config.text("block")));
  }

 private:
  std::string id_;
};

/// The fallback of a family of quantised products.
class PortableQuantisedSolver final : public Solver, public StaticSpace {
 public:
  explicit PortableQuantisedSolver(const FamilySpec& family) : family_(family) {}
  std::string_view id() const override { return family_.fallback; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override {
    return "vectorised loops of this program for quantised products, one thread";
  }
  Support supports(const Problem& problem, const DeviceInfo& device) const override {
    if (device.kind != "host") return Support::no("runs on a host only");
    if (problem.op() != family_.op) return Support::no(fmt::format("computes {} only", family_.op));
    return {};
  }
  const StaticSpace* static_space() const override { return this; }
  Versions kernel_versions() const override {
    return {{"kernel." + std::string(id()), portable_quantised::kSourcesHash}};
  }
  SearchSpace space(const Problem& problem, const DeviceInfo&) const override {
    std::vector<Parameter> parameters = {
        {.name = "block", .values = {std::string("4x4"), std::string("2x4"), std::string("1x4")}}};
    // This solver reads weights of bpreshuffle=1 unpacked.
    if (has_packed_weights(problem))
      parameters.push_back({.name = kLayoutParameter, .values = {std::string(kPlainLayout)}});
    return SearchSpace::product(std::move(parameters), {});
  }
  Config default_config(const Problem& problem, const DeviceInfo&) const override {
    std::vector<std::pair<std::string, Value>> values = {{"block", std::string("4x4")}};
    if (has_packed_weights(problem)) values.emplace_back(kLayoutParameter, std::string(kPlainLayout));
    return Config(std::move(values));
  }
  SearchSpace invariant_space(const Problem& problem, const DeviceInfo& device) const override {
    return space(problem, device);
  }
  std::unique_ptr<Backend> open(Device& device) const override {
    return std::make_unique<PortableBackend>(id(), *this, device.info());
  }

 private:
  const FamilySpec& family_;
};

}  // namespace

void register_portable_quantised_solver(Registry& registry);
void register_portable_quantised_solver(Registry& registry) {
  for (const auto family : {gemm_a8w8_family, gemm_a8w8_blockscale_family, gemm_a4w4_blockscale_family})
    registry.add(std::make_unique<PortableQuantisedSolver>(family()));
}

}  // namespace attune
