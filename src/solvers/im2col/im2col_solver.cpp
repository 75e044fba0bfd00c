// SPDX-License-Identifier: MIT
// Convolutions as products: what the filter reads is gathered into a matrix, and a candidate of gemm_a16w16 multiplies.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "im2col/sources_hash.h"
#include "ops/conv/conv_shape.h"
#include "ops/op.h"
#include "solver/registry.h"
#include "solver/static/static_space_backend.h"
#include "solvers/im2col/im2col_gather.h"
#include "tensor/convert.h"

namespace attune {
namespace {

using ResultTensor = ConvShape::Tensor;

constexpr const char* kGemmParameter = "gemm";
/// The solver of the default part: it computes every product on any machine.
constexpr std::string_view kDefaultPart = "portable.gemm";

/// The product of one image and group: c[m,n] = Σ a[m,k]·b[n,k].
struct PartSizes {
  int64_t m = 0, n = 0, k = 0;

  explicit PartSizes(const ConvShape& shape) {
    const bool is_map = shape.result == ResultTensor::map;
    if (shape.result == ResultTensor::weights) {
      m = shape.group_map_channels();
      n = shape.group_image_channels() * shape.taps();
      k = product(shape.map);
      return;
    }
    m = is_map ? shape.group_map_channels() : shape.group_image_channels();
    n = product(is_map ? shape.map : shape.image);
    k = shape.terms();
    if (shape.channels_last) std::swap(m, n);
  }
};

Problem part_of(const ConvShape& shape, const DeviceInfo& device) {
  const PartSizes sizes(shape);
  const std::string type(name(shape.dtype));
  const Problem part("gemm_a16w16", {{"m", std::to_string(sizes.m)},
                                     {"n", std::to_string(sizes.n)},
                                     {"k", std::to_string(sizes.k)},
                                     {"dtype", type},
                                     {"outdtype", shape.result == ResultTensor::weights ? std::string("fp32") : type}});
  return op_of(part).normalise(part, device);
}

/// Parts of a plan's workspace, as offsets.
struct Im2colWorkspace {
  uint64_t product = 0, rows = 0, weights = 0, result = 0, sums = 0, positions = 0, bytes = 0;

  Im2colWorkspace(const ConvShape& shape, uint64_t product_bytes) {
    const auto placed = [&](uint64_t size) { return std::exchange(bytes, (bytes + size + 255) / 256 * 256); };
    const PartSizes sizes(shape);
    const auto m = static_cast<uint64_t>(sizes.m), n = static_cast<uint64_t>(sizes.n),
               k = static_cast<uint64_t>(sizes.k), element = static_cast<uint64_t>(bits(shape.dtype)) / 8;
    const bool is_weights = shape.result == ResultTensor::weights;
    product = placed(product_bytes);
    // The gathered matrix has a row for each position of the result, or for each weight of a channel.
    const uint64_t gathered = shape.channels_last && !is_weights ? m : n, others = m + n - gathered;
    rows = placed(gathered * k * element);
    weights = placed(others * k * element);
    result = placed(m * n * (is_weights ? sizeof(float) : element));
    sums = is_weights ? placed(m * n * sizeof(float)) : 0;
    positions = placed(static_cast<uint64_t>(shape.taps()) * sizeof(int64_t));
  }
};

class Im2colPlan final : public Plan {
 public:
  Im2colPlan(const ConvShape& shape, std::unique_ptr<Plan> part)
      : shape_(shape),
        sizes_(shape),
        element_(bits(shape.dtype) / 8),
        part_(std::move(part)),
        workspace_(shape, part_->traits().workspace_bytes) {
    traits_ = part_->traits();
    traits_.capturable = false;
    traits_.states = Requirement::none;
    traits_.workspace_alignment = kMaxWorkspaceAlignment;
    traits_.zeroed_bytes = 0;
    traits_.workspace_bytes = workspace_.bytes;
    traits_.host_bytes += sizeof *this;
  }
  const PlanTraits& traits() const noexcept override { return traits_; }

  void run(const Launch& launch) const override {
    for (int64_t group = 0; group < shape_.groups; ++group) {
      if (shape_.result == ResultTensor::weights)
        compute_weights(launch, group);
      else
        compute_data(launch, group);
    }
  }

 private:
  static std::byte* at(const Launch& launch, uint64_t offset) {
    return static_cast<std::byte*>(launch.workspace) + offset;
  }
  static std::byte* operand(const Launch& launch, size_t index) {
    return static_cast<std::byte*>(launch.operands[index]);
  }
  /// Products are promised this alignment of their operands.
  static bool is_aligned(int64_t offset_bytes) { return offset_bytes % 16 == 0; }

  void multiply(const Launch& launch, std::byte* a, std::byte* b, std::byte* c) const {
    void* operands[] = {a, b, c};
    part_->run({operands, at(launch, workspace_.product), launch.stream});
  }

  /// The weights of a group as rows of terms.
  std::byte* weights_of(const Launch& launch, int64_t group) const {
    std::byte* const stored = operand(launch, shape_.weights_operand);
    std::byte* const copy = at(launch, workspace_.weights);
    if (shape_.result == ResultTensor::image) {
      gather_weights(shape_, stored, group, copy);
      return copy;
    }
    const int64_t bytes = shape_.group_map_channels() * shape_.terms() * element_;
    if (is_aligned(group * bytes)) return stored + group * bytes;
    std::memcpy(copy, stored + group * bytes, static_cast<size_t>(bytes));
    return copy;
  }

  void compute_data(const Launch& launch, int64_t group) const {
    const bool is_map = shape_.result == ResultTensor::map;
    const std::byte* const other = operand(launch, is_map ? shape_.image_operand : shape_.map_operand);
    std::byte* const result = operand(launch, is_map ? shape_.map_operand : shape_.image_operand);
    std::byte* const weights = weights_of(launch, group);
    std::byte* const rows = at(launch, workspace_.rows);
    std::byte* const staged = at(launch, workspace_.result);
    const int64_t bytes = sizes_.m * sizes_.n * element_;
    for (int64_t n = 0; n < shape_.n; ++n) {
      gather_positions(shape_, other, n, group, rows, reinterpret_cast<int64_t*>(at(launch, workspace_.positions)));
      const int64_t offset = (n * shape_.groups + group) * bytes;
      const bool is_direct = is_aligned(offset) && (!shape_.channels_last || shape_.groups == 1);
      std::byte* const c = is_direct ? result + offset : staged;
      if (shape_.channels_last)
        multiply(launch, rows, weights, c);
      else
        multiply(launch, weights, rows, c);
      if (is_direct) continue;
      if (shape_.channels_last)
        scatter_channels(shape_, staged, n, group, result);
      else
        std::memcpy(result + offset, staged, static_cast<size_t>(bytes));
    }
  }

  void compute_weights(const Launch& launch, int64_t group) const {
    const std::byte* const image = operand(launch, shape_.image_operand);
    std::byte* const map = operand(launch, shape_.map_operand);
    std::byte* const rows = at(launch, workspace_.rows);
    std::byte* const staged_map = at(launch, workspace_.weights);
    auto* const of_image = reinterpret_cast<float*>(at(launch, workspace_.result));
    auto* const sums = reinterpret_cast<float*>(at(launch, workspace_.sums));
    const int64_t count = sizes_.m * sizes_.n, map_bytes = sizes_.m * sizes_.k * element_;
    for (int64_t n = 0; n < shape_.n; ++n) {
      gather_taps(shape_, image, n, group, rows);
      const int64_t offset = (n * shape_.groups + group) * map_bytes;
      const bool is_direct = !shape_.channels_last && is_aligned(offset);
      if (!is_direct) gather_map(shape_, map, n, group, staged_map);
      multiply(launch, is_direct ? map + offset : staged_map, rows, reinterpret_cast<std::byte*>(of_image));
      if (n == 0)
        std::copy_n(of_image, count, sums);
      else
        for (int64_t i = 0; i < count; ++i) sums[i] += of_image[i];
    }
    from_float(shape_.dtype, {sums, static_cast<size_t>(count)},
               operand(launch, shape_.weights_operand) + group * count * element_);
  }

  ConvShape shape_;
  PartSizes sizes_;
  int64_t element_;
  std::unique_ptr<Plan> part_;
  Im2colWorkspace workspace_;
  PlanTraits traits_;
};

class Im2colSolver final : public Solver, public StaticSpace {
 public:
  std::string_view id() const override { return "conv.im2col"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "gathers what the filter reads, then a product of any solver"; }
  Support supports(const Problem& problem, const DeviceInfo& device) const override {
    if (device.kind != "host") return Support::no("runs on a host only");
    if (problem.op() != "conv") return Support::no("computes conv only");
    const auto shape = ConvShape::of(problem);
    if (shape.dtype != DType::fp32 && shape.dtype != DType::bf16 && shape.dtype != DType::fp16)
      return Support::no("computes fp32, bf16 and fp16 only");
    const PartSizes sizes(shape);
    if (std::max({sizes.m, sizes.n, sizes.k}) > kMaxExtent)
      return Support::no("has a product that is too large for gemm_a16w16");
    if (registry().find(kDefaultPart) == nullptr) return Support::no("needs portable.gemm, which is not in this build");
    return {};
  }
  std::vector<Problem> parts(const Problem& problem, const DeviceInfo& device) const override {
    return {part_of(ConvShape::of(problem), device)};
  }
  const StaticSpace* static_space() const override { return this; }
  Versions kernel_versions() const override { return {{"kernel.conv.im2col", im2col::kSourcesHash}}; }
  SearchSpace space(const Problem& problem, const DeviceInfo& device) const override {
    return SearchSpace::product({{.name = kGemmParameter, .values = {default_part(problem, device)}, .part = 0}}, {});
  }
  Config default_config(const Problem& problem, const DeviceInfo& device) const override {
    return Config({{kGemmParameter, default_part(problem, device)}});
  }
  std::unique_ptr<Backend> open(Device& device) const override;

 private:
  static std::string default_part(const Problem& problem, const DeviceInfo& device) {
    const Solver* part = registry().find(kDefaultPart);
    ATTUNE_CHECK(part != nullptr && part->static_space() != nullptr, "{} is not there", kDefaultPart);
    const Config config = part->static_space()->default_config(part_of(ConvShape::of(problem), device), device);
    return Candidate{std::string(kDefaultPart), std::string(part->version()), config}.nested_name();
  }
};

class Im2colBackend final : public StaticSpaceBackend {
 public:
  using StaticSpaceBackend::StaticSpaceBackend;
  Versions versions() const override {
    Versions all = kernel_versions();
    all.emplace("conv.im2col", "1");
    return all;
  }
  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext& context) override {
    const auto shape = ConvShape::of(problem);
    auto part = context.prepare_part(part_of(shape, device()), Candidate::parse_nested(config.text(kGemmParameter)));
    if (part->traits().zeroed_bytes > 0)
      fail(ErrorCode::unavailable, "the product needs a workspace that is zero: {}", config.text(kGemmParameter));
    return std::make_unique<Im2colPlan>(shape, std::move(part));
  }
};

std::unique_ptr<Backend> Im2colSolver::open(Device& device) const {
  return std::make_unique<Im2colBackend>(*this, device.info());
}

}  // namespace

void register_im2col_solver(Registry& registry);
void register_im2col_solver(Registry& registry) { registry.add(std::make_unique<Im2colSolver>()); }

}  // namespace attune
