// SPDX-License-Identifier: MIT
// The calls of oneDNN that the solvers of this folder share, over the interfaces of both versions.
#pragma once
#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ops/epilogue.h"
#include "solvers/onednn/onednn_library.h"

namespace attune {

/// Calls oneDNN and converts its exception into Error.
template <typename Call>
auto guarded(ErrorCode code, Call call) {
  try {
    return call();
  } catch (const dnnl::error& error) {
    fail(code, "oneDNN reported an error: {} (status {})", error.what(), static_cast<int>(error.status));
  }
}

/// The versions of a solver's results: its own, `code`, with the library's, and the instructions that the library uses,
/// which ONEDNN_MAX_CPU_ISA limits.
inline Versions onednn_versions(std::string_view id, std::string_view code) {
  const auto* version = dnnl::version();
  return {{std::string(id), fmt::format("{}+{}.{}.{}", code, version->major, version->minor, version->patch)},
          {std::string(onednn_library().name) + ".isa",
           fmt::format("{:#x}", static_cast<int>(dnnl::get_effective_cpu_isa()))}};
}

/// oneDNN's names of its reference implementations begin so: they are thousands of times slower.
inline bool is_reference(std::string_view implementation) { return implementation.starts_with("ref"); }

/// A product c = a·b (+ bias), then an activation.
struct MatmulDescription {
  dnnl::memory::desc a, b, bias, c;
  bool has_bias = false;
  Activation act = Activation::none;
};

inline dnnl::algorithm algorithm_of(Activation act) {
  switch (act) {
    case Activation::relu:
      return dnnl::algorithm::eltwise_relu;
    case Activation::gelu:
      return dnnl::algorithm::eltwise_gelu_erf;
    case Activation::gelu_tanh:
      return dnnl::algorithm::eltwise_gelu_tanh;
    case Activation::silu:
      return dnnl::algorithm::eltwise_swish;
    case Activation::none:
      break;
  }
  fail(ErrorCode::unavailable, "oneDNN has no such activation: {}", static_cast<int>(act));
}

/// Appends an activation, which follows the bias and is computed in fp32. Version 2 has a factor more. For swish the
/// first parameter is the factor of x inside; relu's is the slope below zero.
template <typename PostOps>
void append_activation(PostOps& operations, Activation act) {
  const float parameter = act == Activation::silu ? 1.0f : 0.0f;
  if constexpr (requires { operations.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f); })
    operations.append_eltwise(1.0f, algorithm_of(act), parameter, 0.0f);
  else
    operations.append_eltwise(algorithm_of(act), parameter, 0.0f);
}

/// The scratchpad is the user's, so that a call allocates nothing.
inline dnnl::primitive_attr attributes_of(const MatmulDescription& d) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (d.act == Activation::none) return attributes;
  dnnl::post_ops operations;
  append_activation(operations, d.act);
  attributes.set_post_ops(operations);
  return attributes;
}

/// Passes the first offered implementation to `use`. Version 2 makes it from a description of the operation, and its
/// iterator keeps a pointer to that: the description must live as long as next_impl() is called. Version 3 makes it
/// directly.
template <typename Matmul = dnnl::matmul, typename Use>
void with_first_matmul(const MatmulDescription& d, const dnnl::engine& engine, Use use) {
  const auto attributes = attributes_of(d);
  using Implementation = typename Matmul::primitive_desc;
  if constexpr (requires { typename Matmul::desc; }) {
    using Operation = typename Matmul::desc;
    const Operation operation = d.has_bias ? Operation(d.a, d.b, d.bias, d.c) : Operation(d.a, d.b, d.c);
    use(Implementation(operation, attributes, engine));
  } else if (d.has_bias) {
    use(Implementation(engine, d.a, d.b, d.bias, d.c, attributes));
  } else {
    use(Implementation(engine, d.a, d.b, d.c, attributes));
  }
}

/// Visits the implementations in oneDNN's order of preference, those for the calling thread's number of OpenMP threads,
/// until `visit` returns false; repeated names are visited once.
template <typename Visit>
void for_each_implementation(const MatmulDescription& description, const dnnl::engine& engine, Visit visit) {
  const auto visit_all = [&](dnnl::matmul::primitive_desc implementation) {
    std::vector<std::string> seen;
    do {
      std::string name = implementation.impl_info_str();
      if (std::find(seen.begin(), seen.end(), name) != seen.end()) continue;
      seen.push_back(name);
      if (!visit(name, implementation)) return;
    } while (implementation.next_impl());
  };
  guarded(ErrorCode::unavailable, [&] { with_first_matmul(description, engine, visit_all); });
}

/// The first implementation that fits; nothing if none does. Calls like for_each_implementation().
template <typename Fits>
std::optional<dnnl::matmul::primitive_desc> first_implementation(const MatmulDescription& description,
                                                                 const dnnl::engine& engine, Fits fits) {
  std::optional<dnnl::matmul::primitive_desc> found;
  for_each_implementation(description, engine,
                          [&](const std::string& name, const dnnl::matmul::primitive_desc& offered) {
                            if (fits(name, offered)) found = offered;
                            return !found.has_value();
                          });
  return found;
}

/// The implementation of this name that reads the same weights, or else the one that oneDNN prefers: for the calling
/// thread's number of OpenMP threads. `description` has the weights in plain order.
inline dnnl::matmul::primitive_desc implementation_like(const dnnl::matmul::primitive_desc& chosen,
                                                        MatmulDescription description, const dnnl::engine& engine) {
  description.b = chosen.weights_desc();
  const std::string wanted = chosen.impl_info_str();
  const auto first = [&](auto fits) { return first_implementation(description, engine, fits); };
  auto found = first([&](const auto& name, const auto&) { return name == wanted; });
  if (!found) found = first([](const auto& name, const auto&) { return !is_reference(name); });
  if (!found) found = first([](const auto&, const auto&) { return true; });
  if (!found) fail(ErrorCode::unavailable, "oneDNN has no implementation for one thread beside '{}'", wanted);
  return *std::move(found);
}

/// Addresses of the operands of a call; the bias is null without one.
struct MatmulOperands {
  void *a, *b, *bias, *c, *scratchpad;
};

/// A primitive with its arguments, which are made once: execute() allocates nothing.
class PreparedMatmul {
 public:
  PreparedMatmul(const dnnl::matmul::primitive_desc& chosen, const dnnl::engine& engine, bool has_bias)
      : workspace_bytes_(chosen.scratchpad_desc().get_size()),
        host_bytes_(onednn_primitive_bytes(chosen.impl_info_str())),
        matmul_(chosen) {
    const auto add = [&](int argument, const dnnl::memory::desc& desc) {
      arguments_.emplace(argument, dnnl::memory(desc, engine, DNNL_MEMORY_NONE));
    };
    add(DNNL_ARG_SRC, chosen.src_desc());
    add(DNNL_ARG_WEIGHTS, chosen.weights_desc());
    add(DNNL_ARG_DST, chosen.dst_desc());
    add(DNNL_ARG_SCRATCHPAD, chosen.scratchpad_desc());
    if (has_bias) add(DNNL_ARG_BIAS, chosen.bias_desc());
  }
  uint64_t workspace_bytes() const { return workspace_bytes_; }
  uint64_t host_bytes() const { return host_bytes_; }

  void execute(dnnl::stream& stream, const MatmulOperands& at) const {
    arguments_.at(DNNL_ARG_SRC).set_data_handle(at.a);
    arguments_.at(DNNL_ARG_WEIGHTS).set_data_handle(at.b);
    arguments_.at(DNNL_ARG_DST).set_data_handle(at.c);
    arguments_.at(DNNL_ARG_SCRATCHPAD).set_data_handle(at.scratchpad);
    if (at.bias != nullptr) arguments_.at(DNNL_ARG_BIAS).set_data_handle(at.bias);
    matmul_.execute(stream, arguments_);
    stream.wait();
  }

 private:
  uint64_t workspace_bytes_, host_bytes_;
  dnnl::matmul matmul_;
  mutable std::unordered_map<int, dnnl::memory> arguments_;
};

}  // namespace attune
