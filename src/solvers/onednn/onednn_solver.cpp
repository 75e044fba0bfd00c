// SPDX-License-Identifier: MIT
// oneDNN matmul: one candidate for each implementation that its iterator offers and each thread count. Threads come
// from libgomp, whose team size is fixed when the primitive is created and used again when it runs. Compiled once for
// each version of the library (onednn_library.h).
#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "core/candidate.h"
#include "ops/gemm/gemm_op.h"
#include "solver/host_gemm.h"
#include "solver/module/openmp_team.h"
#include "solver/own_library.h"
#include "solver/thread_counts.h"
#include "solvers/onednn/onednn_functions.h"
#include "solvers/onednn/onednn_library.h"
#include "solvers/onednn/onednn_solvers.h"

namespace attune {
namespace {

using dnnl::memory;

memory::data_type data_type_of(DType dtype) {
  switch (dtype) {
    case DType::fp32:
      return memory::data_type::f32;
    case DType::bf16:
      return memory::data_type::bf16;
    case DType::fp16:
      return memory::data_type::f16;
    default:
      fail(ErrorCode::unavailable, "oneDNN's matmul supports fp32, bf16 and fp16, got {}", name(dtype));
  }
}

/// plain: the weights are in row order; any: oneDNN chooses their order.
enum class WeightOrder : uint8_t { plain, any };

MatmulDescription describe(const GemmShape& shape, WeightOrder order) {
  using tag = memory::format_tag;
  const auto in = data_type_of(shape.in), out = data_type_of(shape.out);
  const tag weights = order == WeightOrder::any ? tag::any : shape.b_is_kn ? tag::ab : tag::ba;
  return {memory::desc({shape.m, shape.k}, in, shape.trans_a ? tag::ba : tag::ab),
          memory::desc({shape.k, shape.n}, in, weights),
          shape.bias ? memory::desc({1, shape.n}, in, tag::ab) : memory::desc(),
          memory::desc({shape.m, shape.n}, out, tag::ab),
          shape.bias,
          shape.epilogue.act};
}

/// The order of a matrix in oneDNN's notation: `ba`, `BA16a64b2a`. Empty if it is not described by strides and blocks.
/// Version 2 exposes the parts of a description, version 3 has functions for them.
template <typename Desc>
std::optional<std::string> format_of(const Desc& desc) {
  memory::dims strides, blocks, axes;
  if constexpr (requires { desc.data; }) {
    if (desc.data.format_kind != dnnl_blocked || desc.data.extra.flags != 0) return std::nullopt;
    const auto& blocking = desc.data.format_desc.blocking;
    strides.assign(blocking.strides, blocking.strides + 2);
    blocks.assign(blocking.inner_blks, blocking.inner_blks + blocking.inner_nblks);
    axes.assign(blocking.inner_idxs, blocking.inner_idxs + blocking.inner_nblks);
  } else {
    if (desc.get_format_kind() != memory::format_kind::blocked) return std::nullopt;
    strides = desc.get_strides();
    blocks = desc.get_inner_blks();
    axes = desc.get_inner_idxs();
    blocks.resize(static_cast<size_t>(desc.get_inner_nblks()));
  }
  std::string text = strides[0] > strides[1] ? "ab" : "ba";
  for (size_t i = 0; i < blocks.size(); ++i) {
    const char axis = static_cast<char>('a' + axes[i]);
    std::replace(text.begin(), text.begin() + 2, axis, static_cast<char>('A' + axes[i]));
    text += std::to_string(blocks[i]) + axis;
  }
  return text;
}

/// The layout of an implementation's weights; empty if it has no name. oneDNN's choice for `any` may differ with M,
/// threads or implementation: the format is part of the name, so weights never meet a kernel that needs others.
std::optional<std::string> weights_layout_of(const dnnl::matmul::primitive_desc& implementation) {
  const auto format = format_of(implementation.weights_desc());
  if (!format) return std::nullopt;
  if (*format == "ba") return kPlainLayout;
  const auto* version = dnnl::version();
  return fmt::format("{}.any@{}.{}.{}.{}", onednn_library().name, version->major, version->minor, version->patch,
                     *format);
}

class OnednnPlan final : public Plan {
 public:
  /// `alone`: for one thread, used where the team of `threads` cannot be had; nothing if `threads` is 1.
  OnednnPlan(const GemmShape& shape, PreparedMatmul chosen, std::optional<PreparedMatmul> alone,
             const dnnl::engine& engine, int threads)
      : where_(GemmOperands::of(shape)),
        has_bias_(shape.bias),
        threads_(threads),
        stream_(engine),
        chosen_(std::move(chosen)),
        alone_(std::move(alone)) {
    traits_.workspace_bytes = std::max(chosen_.workspace_bytes(), alone_ ? alone_->workspace_bytes() : 0);
    traits_.reentrant = false;
    traits_.host_bytes = sizeof *this + chosen_.host_bytes() + (alone_ ? alone_->host_bytes() : 0);
  }
  const PlanTraits& traits() const noexcept override { return traits_; }

  void run(const Launch& launch) const override {
    const OpenmpTeam team(threads_);
    const PreparedMatmul& used = team.size() == threads_ ? chosen_ : *alone_;
    const MatmulOperands operands{launch.operands[where_.a], launch.operands[where_.b],
                                  has_bias_ ? launch.operands[where_.bias] : nullptr, launch.operands[where_.c],
                                  launch.workspace};
    guarded(ErrorCode::device, [&] { used.execute(stream_, operands); });
  }

 private:
  GemmOperands where_;
  bool has_bias_;
  int threads_;
  mutable dnnl::stream stream_;
  PreparedMatmul chosen_;
  std::optional<PreparedMatmul> alone_;
  PlanTraits traits_;
};

class OnednnBackend final : public Backend, public OpaqueLayouts {
 public:
  explicit OnednnBackend(const DeviceInfo& device) : device_(device), engine_(dnnl::engine::kind::cpu, 0) {
    require_library(reinterpret_cast<const void*>(&dnnl_primitive_execute), "dnnl_primitive_execute", onednn_file());
  }

  Versions versions() const override { return onednn_versions(onednn_library().id, OnednnSolver().version()); }

  SearchSpace space(const Problem& problem) override {
    if (GemmShape::of(problem).packed) return packed_space(problem);
    const auto offered = names(problem);
    std::vector<Value> values;
    std::vector<Rule> rules;
    for (const auto& name : offered) {
      values.emplace_back(name);
      if (is_reference(name) && name != preferred(offered))
        rules.push_back({"no-reference", fmt::format("impl != '{}'", name),
                         "oneDNN's reference implementation is thousands of times slower"});
    }
    return SearchSpace::product({{.name = "impl", .values = std::move(values)},
                                 {.name = "threads", .values = thread_counts(device_.num_units)}},
                                std::move(rules));
  }

  Config default_config(const Problem& problem) override {
    if (GemmShape::of(problem).packed) {
      // The implementation that oneDNN offers a user who lets it choose the order of the weights.
      const auto offered = with_layouts(problem, WeightOrder::any, device_.num_units);
      const auto found =
          std::find_if(offered.begin(), offered.end(), [](const auto& one) { return !one.is_reference; });
      if (offered.empty()) fail(ErrorCode::unavailable, "oneDNN offers no layout of these weights: {}", problem.key());
      return (found == offered.end() ? offered.front() : *found).config;
    }
    return Config({{"impl", preferred(names(problem))}, {"threads", device_.num_units}});
  }

  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext&) override {
    const int threads = thread_count(config, device_);
    const auto shape = GemmShape::of(problem);
    const std::string& wanted = config.text("impl");
    const std::string layout = shape.packed ? config.text(kLayoutParameter) : kPlainLayout;
    const auto order = layout == kPlainLayout ? WeightOrder::plain : WeightOrder::any;
    const auto fits = [&](const std::string& name, const auto& offered) {
      return name == wanted && (order == WeightOrder::plain || weights_layout_of(offered) == layout);
    };
    const auto found = [&] {
      const OpenmpThreads guard(threads);
      return first_implementation(describe(shape, order), engine_, fits);
    }();
    if (!found)
      fail(ErrorCode::unavailable, "oneDNN does not offer the implementation with this number of threads: '{}'",
           wanted);
    std::optional<PreparedMatmul> alone;
    if (threads > 1) alone = prepared(alone_for(shape, *found), shape, 1);
    return std::make_unique<OnednnPlan>(shape, prepared(*found, shape, threads), std::move(alone), engine_, threads);
  }

  OpaqueLayouts* opaque_layouts() override { return this; }
  std::vector<Layout> layouts(const Problem& problem) override {
    std::vector<Layout> all;
    if (!GemmShape::of(problem).packed) return all;
    const SearchSpace offered = packed_space(problem);
    for (uint64_t i = 0; i < offered.size(); ++i) {
      Layout layout{offered.at(i).text(kLayoutParameter)};
      if (layout.name != kPlainLayout && std::find(all.begin(), all.end(), layout) == all.end())
        all.push_back(std::move(layout));
    }
    return all;
  }

  uint64_t packed_bytes(const Layout& layout, const Problem& problem) const override {
    return description_of(layout, problem).get_size();
  }

  void pack(const Layout& layout, const Problem& problem, PlainOperands plain, Buffer packed) const override {
    const auto shape = GemmShape::of(problem);
    const memory::desc rows({shape.k, shape.n}, data_type_of(shape.in), memory::format_tag::ba);
    const memory::desc& wanted = description_of(layout, problem);
    const OpenmpTeam team(static_cast<int>(device_.num_units));
    guarded(ErrorCode::device, [&] {
      // The library takes its inputs as void*; a reorder does not write them.
      memory from(rows, engine_, plain.front().data), to(wanted, engine_, packed.data);
      dnnl::stream stream(engine_);
      dnnl::reorder(from, to).execute(stream, from, to);
      stream.wait();
    });
  }

  std::vector<EntryPoint> entry_points() const override {
    return {{"dnnl_primitive_execute", library_of(reinterpret_cast<const void*>(&dnnl_primitive_execute))}};
  }

 private:
  /// An implementation and the layout of its weights.
  struct Offer {
    Config config;
    memory::desc weights;
    bool is_reference;
  };

  /// Implementations for this number of threads, in oneDNN's order of preference.
  std::vector<Offer> with_layouts(const Problem& problem, WeightOrder order, int64_t threads) const {
    std::vector<Offer> offered;
    const OpenmpThreads guard(static_cast<int>(threads));
    const auto note = [&](const std::string& name, const dnnl::matmul::primitive_desc& implementation) {
      const auto layout =
          order == WeightOrder::plain ? std::optional<std::string>(kPlainLayout) : weights_layout_of(implementation);
      if (layout) {
        offered.push_back({Config({{"impl", name}, {"threads", threads}, {kLayoutParameter, *layout}}),
                           implementation.weights_desc(), is_reference(name)});
      }
      return true;
    };
    for_each_implementation(describe(GemmShape::of(problem), order), engine_, note);
    return offered;
  }

  /// The space is a list of rows, not a product: oneDNN decides which implementation needs which layout.
  SearchSpace packed_space(const Problem& problem) {
    std::vector<Config> rows = {default_config(problem)};
    for (const Value& threads : thread_counts(device_.num_units)) {
      for (const WeightOrder order : {WeightOrder::any, WeightOrder::plain}) {
        for (const Offer& offer : with_layouts(problem, order, std::get<int64_t>(threads))) {
          if (!offer.is_reference) rows.push_back(offer.config);
        }
      }
    }
    return SearchSpace::listed(std::move(rows));
  }

  /// Caches the last description: a rotation asks for the same one repeatedly.
  const memory::desc& description_of(const Layout& layout, const Problem& problem) const {
    const std::string key = problem.key() + ' ' + layout.name;
    if (described_.first == key) return described_.second;
    for (const Value& threads : thread_counts(device_.num_units)) {
      for (const Offer& offer : with_layouts(problem, WeightOrder::any, std::get<int64_t>(threads))) {
        if (offer.config.text(kLayoutParameter) != layout.name) continue;
        described_ = {key, offer.weights};
        return described_.second;
      }
    }
    fail(ErrorCode::unavailable, "oneDNN does not offer this layout of the weights: '{}'", layout.name);
  }

  /// Names of the implementations offered for all cores.
  std::vector<std::string> names(const Problem& problem) {
    std::vector<std::string> offered;
    const OpenmpThreads guard(static_cast<int>(device_.num_units));
    const auto note = [&](const std::string& name, const auto&) {
      offered.push_back(name);
      return true;
    };
    for_each_implementation(describe(GemmShape::of(problem), WeightOrder::plain), engine_, note);
    return offered;
  }

  /// oneDNN's own choice; a reference implementation only if there is no other.
  static const std::string& preferred(const std::vector<std::string>& offered) {
    const auto found = std::find_if_not(offered.begin(), offered.end(), is_reference);
    return found == offered.end() ? offered.front() : *found;
  }

  /// An implementation for one thread that reads the same operands.
  dnnl::matmul::primitive_desc alone_for(const GemmShape& shape, const dnnl::matmul::primitive_desc& chosen) const {
    const OpenmpThreads guard(1);
    return implementation_like(chosen, describe(shape, WeightOrder::plain), engine_);
  }

  /// Generates an implementation's code, for as many threads as it was described for.
  PreparedMatmul prepared(const dnnl::matmul::primitive_desc& chosen, const GemmShape& shape, int threads) const {
    const OpenmpThreads guard(threads);
    return guarded(ErrorCode::unavailable, [&] { return PreparedMatmul(chosen, engine_, shape.bias); });
  }

  DeviceInfo device_;
  dnnl::engine engine_;
  mutable std::pair<std::string, memory::desc> described_;  ///< Problem and layout, and oneDNN's description.
};

/// Measured with version 2.6.3: up to here one thread is as fast, and much faster where a second one has to wake up
/// (docs/performance/one_thread.md).
constexpr double kOneThreadFlops = 2 * 9'216;

}  // namespace

Support OnednnSolver::supports(const Problem& problem, const DeviceInfo& device) const {
  if (const Support support = supports_host_gemm(problem, device, WeightForms::plain_or_packed, {.act = true});
      !support.yes)
    return support;
  const auto shape = GemmShape::of(problem);
  if (const Support support = onednn_supports_activation(shape.epilogue.act); !support.yes) return support;
  if (shape.in == DType::fp16 || shape.out == DType::fp16) {
    if (const Support support = onednn_supports_fp16(shape); !support.yes) return support;
  }
  // Without AVX-512 not even oneDNN's reference computes bf16 (version 3's does with AVX2-VNNI-2, which Attune does
  // not check).
  const bool has_bf16 = shape.in == DType::bf16 || shape.out == DType::bf16;
  const InstructionSets sets = device.instruction_sets();
  if (has_bf16 && sets.level() > 0 && !sets.has(InstructionSet::avx512))
    return Support::no("supports bf16 with AVX-512 only");
  if (shape.in == DType::fp32 && shape.out != DType::fp32)
    return Support::no("supports fp32 inputs with fp32 results only");
  return {};
}

double OnednnSolver::one_thread_flops() const { return kOneThreadFlops; }

std::unique_ptr<Backend> OnednnSolver::open(Device& device) const {
  return std::make_unique<OnednnBackend>(device.info());
}

}  // namespace attune
