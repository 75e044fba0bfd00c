// SPDX-License-Identifier: MIT
// A GEMM with real results and times by a formula: tests of the tuner, the CLI and the journal need no hardware and are
// deterministic. Runs on device/fake only.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/variable.h"
#include "core/candidate.h"
#include "device/fake/fake_device.h"
#include "ops/gemm/gemm_op.h"
#include "solver/host_epilogue.h"
#include "solver/registry.h"
#include "solvers/fake/fake_backend.h"
#include "tensor/convert.h"

namespace attune {
namespace {

// Packed weights are faster for few rows of x and slower for many, so that rows of one weight group disagree.
constexpr const char* kPacked = "host.k16.v1";
constexpr int64_t kFewRows = 32;
constexpr double kPackedFewRows = 0.8, kPackedManyRows = 1.1;

constexpr const char* kVariant = "variant";
constexpr int64_t kMaxVariants = 100'000;

/// How often each config is in a space, for searches of large ones. $ATTUNE_FAKE_VARIANTS, read at the first call.
int64_t num_variants() {
  static const int64_t number = [] {
    const char* text = variable_or_null("ATTUNE_FAKE_VARIANTS");
    return std::clamp<int64_t>(text != nullptr ? parse_int(text).value_or(1) : 1, 1, kMaxVariants);
  }();
  return number;
}

/// Factor of a config's time: 1 for the first variant, almost 2 for the last, for any number of variants.
double variant_factor(const Config& config) {
  if (num_variants() == 1) return 1;
  return 1 + static_cast<double>(config.integer(kVariant) - 1) / static_cast<double>(num_variants());
}

/// A sum along K. A function of its own, which is not inlined: among the epilogue's variables the compiler keeps the
/// steps on the stack, and this loop is nine tenths of what a tuning on the fake device computes.
[[gnu::noinline]] float sum_of_products(const float* left, int64_t left_step, const float* right, int64_t right_step,
                                        int64_t count, float sum) {
  for (int64_t k = 0; k < count; ++k) sum += left[k * left_step] * right[k * right_step];
  return sum;
}

class FakePlan final : public Plan {
 public:
  FakePlan(const GemmShape& shape, Layout layout, double us, FakeDevice& device, Requirement states)
      : shape_(shape),
        weights_{.dtype = shape.in, .shape = {shape.n, shape.k}},
        layout_(std::move(layout)),
        plain_(layout_.name == kPlainLayout ? 0 : weights_.bytes()),
        us_(us),
        device_(device),
        a_(static_cast<size_t>(shape.m * shape.k)),
        b_(static_cast<size_t>(shape.n * shape.k)),
        bias_(static_cast<size_t>(shape.n)),
        c_(static_cast<size_t>(shape.m * shape.n)) {
    traits_.reentrant = false;
    traits_.capturable = true;
    traits_.states = states;
    traits_.host_bytes =
        sizeof *this + plain_.size() + sizeof(float) * (a_.size() + b_.size() + bias_.size() + c_.size());
  }
  const PlanTraits& traits() const noexcept override { return traits_; }

  void run(const Launch& launch) const override {
    device_.enqueue(launch.stream, us_, [this, operands = FakeMemory::reach(launch.operands)] { compute(operands); });
  }

 private:
  void compute(std::span<void* const> operands) const {
    const Launch launch{.operands = operands};
    const auto where = GemmOperands::of(shape_);
    const auto widen = [&](size_t operand, std::vector<float>& values) {
      to_float(shape_.in, static_cast<const std::byte*>(launch.operands[operand]), values);
    };
    widen(where.a, a_);
    if (plain_.empty()) {
      widen(where.b, b_);
    } else {
      const auto* packed = static_cast<const std::byte*>(launch.operands[where.b]);
      unpack(layout_, weights_, {packed, packed_bytes(layout_, weights_)}, plain_);
      to_float(shape_.in, plain_.data(), b_);
    }
    const bool has_epilogue = !shape_.epilogue.is_none();
    const HostEpilogue epilogue(shape_, launch);
    if (shape_.bias) widen(where.bias, bias_);
    const int64_t a_row = shape_.trans_a ? 1 : shape_.k, a_step = shape_.trans_a ? shape_.m : 1;
    const int64_t b_row = shape_.b_is_kn ? 1 : shape_.k, b_step = shape_.b_is_kn ? shape_.n : 1;
    for (int64_t i = 0; i < shape_.m; ++i) {
      for (int64_t j = 0; j < shape_.n; ++j) {
        const float start = shape_.bias && !has_epilogue ? bias_[static_cast<size_t>(j)] : 0.0f;
        const float sum =
            sum_of_products(a_.data() + i * a_row, a_step, b_.data() + j * b_row, b_step, shape_.k, start);
        c_[static_cast<size_t>(i * shape_.n + j)] = has_epilogue ? epilogue.finish(sum, i, j) : sum;
      }
    }
    from_float(shape_.out, c_, static_cast<std::byte*>(launch.operands[where.c]));
  }

  GemmShape shape_;
  TensorSpec weights_;
  Layout layout_;
  mutable std::vector<std::byte> plain_;  // Empty for plain weights.
  double us_;
  FakeDevice& device_;
  mutable std::vector<float> a_, b_, bias_, c_;
  PlanTraits traits_;
};

class FakeGemmBackend final : public FakeBackend {
 public:
  using FakeBackend::FakeBackend;

 private:
  /// All are the same loop; what they state differs, as it does among real kernels.
  Requirement stated(const Config& config) const override {
    const int64_t split = config.integer("split_k");
    return split == 1 ? Requirement::batch_invariant : split == 2 ? Requirement::deterministic : Requirement::none;
  }
  std::unique_ptr<Plan> healthy_plan(const Problem& problem, const Config& config, double luck,
                                     Requirement states) const override {
    const auto shape = GemmShape::of(problem);
    const auto work = op().work(problem);
    const double ideal = device().roofline_us(work.flops, work.bytes, work.arithmetic);
    const double split = static_cast<double>(config.integer("split_k"));
    const double wanted_split = shape.k >= 8 * std::max(shape.m, shape.n) ? 4 : 1;
    const double penalty = 1 + 0.12 * tile_waste(config.integer("tile_m"), shape.m) +
                           0.08 * tile_waste(config.integer("tile_n"), shape.n) +
                           0.05 * std::abs(std::log2(split / wanted_split));
    const Layout layout{layout_of(config)};
    const double gain = layout.name == kPlainLayout ? 1 : shape.m <= kFewRows ? kPackedFewRows : kPackedManyRows;
    const double us = (2.0 + ideal * 1.2 * penalty) * gain * luck * variant_factor(config);
    return std::make_unique<FakePlan>(shape, layout, us, device(), states);
  }
};

class FakeSolver final : public Solver, public StaticSpace {
 public:
  std::string_view id() const override { return "fake.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "a made-up kernel with planted times, on the fake device only"; }
  Support supports(const Problem& problem, const DeviceInfo& device) const override {
    if (device.kind != "fake") return Support::no("runs on the fake device only");
    if (problem.op() != "gemm_a16w16") return Support::no("computes gemm_a16w16 only");
    return {};
  }
  const StaticSpace* static_space() const override { return this; }
  SearchSpace space(const Problem& problem, const DeviceInfo&) const override {
    const std::vector<Value> tiles = {int64_t{16}, int64_t{32}, int64_t{64}, int64_t{128}};
    std::vector<Parameter> parameters = {{.name = "tile_m", .values = tiles},
                                         {.name = "tile_n", .values = tiles},
                                         {.name = "split_k", .values = {int64_t{1}, int64_t{2}, int64_t{4}}}};
    if (GemmShape::of(problem).packed)
      parameters.push_back({.name = kLayoutParameter, .values = {std::string(kPlainLayout), std::string(kPacked)}});
    if (num_variants() > 1) {
      std::vector<Value> variants;
      for (int64_t variant = 1; variant <= num_variants(); ++variant) variants.emplace_back(variant);
      parameters.push_back({.name = kVariant, .values = std::move(variants)});
    }
    return SearchSpace::product(
        std::move(parameters),
        {{"tile-fits", "tile_m * tile_n <= 128 * 64", "an accumulator of this size does not fit the registers"},
         {"split-divides", "problem.k % split_k == 0", "split-K needs parts of equal length"}});
  }
  SearchSpace invariant_space(const Problem& problem, const DeviceInfo& device) const override {
    const SearchSpace all = space(problem, device);
    std::vector<Rule> rules(all.rules().begin(), all.rules().end());
    rules.push_back({"one-order", "split_k == 1", "parts of K are not batch-invariant"});
    return SearchSpace::product({all.parameters().begin(), all.parameters().end()}, std::move(rules));
  }
  Config default_config(const Problem& problem, const DeviceInfo&) const override {
    std::vector<std::pair<std::string, Value>> values = {
        {"tile_m", int64_t{64}}, {"tile_n", int64_t{64}}, {"split_k", int64_t{1}}};
    if (GemmShape::of(problem).packed) values.emplace_back(kLayoutParameter, std::string(kPlainLayout));
    if (num_variants() > 1) values.emplace_back(kVariant, int64_t{1});
    return Config(std::move(values));
  }
  std::unique_ptr<Backend> open(Device& device) const override {
    return std::make_unique<FakeGemmBackend>(*this, fake_device(device), *find_op("gemm_a16w16"), "fake.gemm");
  }
};

}  // namespace

void register_fake_solver(Registry& registry);
void register_fake_solver(Registry& registry) {
  registry.add(std::make_unique<FakeSolver>());
  for (const Op* op : ops()) {
    const bool is_of_this_build = op->family().number < OpId::first_registered;
    if (is_of_this_build && op->name() != "gemm_a16w16") registry.add(make_fake_op_solver(*op));
  }
}

}  // namespace attune
