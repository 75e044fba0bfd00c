// SPDX-License-Identifier: MIT
// oneDNN's convolution over the interfaces of both versions: which implementations there are, and calls that reorder
// operands to and from the layouts that an implementation wants.
#pragma once
#include <functional>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ops/conv/conv_shape.h"
#include "solvers/onednn/onednn_functions.h"

namespace attune {

/// The order of image and map inside a call. `any`: oneDNN chooses. Weights always have the order that it chooses.
enum class InnerOrder : uint8_t { any, nchw, nhwc };
inline constexpr std::string_view kInnerOrders[] = {"any", "nchw", "nhwc"};

/// One of the three tensors of a convolution for each purpose.
template <typename One>
struct PerTensor {
  One image, weights, map;
};

/// An implementation that oneDNN offers; `create` is valid during the visit only.
struct OfferedConv {
  std::string name;
  PerTensor<dnnl::memory::desc> descs;
  dnnl::memory::desc scratchpad;
  std::function<dnnl::primitive()> create;
};

/// A convolution as oneDNN describes it: the image is `src`, the map `dst`, whichever of them is the result.
class ConvDescription {
 public:
  ConvDescription(const ConvShape& shape, dnnl::memory::data_type type) : shape_(shape), type_(type) {}

  /// The descriptions of the problem's own operands.
  PerTensor<dnnl::memory::desc> operands() const {
    using tag = dnnl::memory::format_tag;
    const tag data = shape_.channels_last ? tag::nhwc : tag::nchw;
    tag weights = shape_.channels_last ? tag::ohwi : tag::oihw;
    if (shape_.groups > 1) weights = shape_.channels_last ? tag::gohwi : tag::goihw;
    return described(data, weights);
  }

  /// Visits the implementations of an order in oneDNN's order of preference, for the calling thread's number of OpenMP
  /// threads, until `visit` returns false. Direct ones come before Winograd; a name is visited once.
  template <typename Visit>
  void for_each(InnerOrder order, const dnnl::engine& engine, Visit visit) const {
    std::vector<std::string> seen;
    bool goes_on = true;
    const auto visit_new = [&](const OfferedConv& offered) {
      if (std::find(seen.begin(), seen.end(), offered.name) != seen.end()) return true;
      seen.push_back(offered.name);
      goes_on = visit(offered);
      return goes_on;
    };
    for (const auto algorithm : {dnnl::algorithm::convolution_direct, dnnl::algorithm::convolution_winograd}) {
      if (goes_on) for_each_of(algorithm, order, engine, visit_new);
    }
  }

 private:
  using Tensor = ConvShape::Tensor;

  /// A tensor for both axes of a plane; oneDNN counts dilations from 0.
  static dnnl::memory::dims plane(const Extents& extents, int64_t less = 0) {
    return {extents[1] - less, extents[2] - less};
  }

  PerTensor<dnnl::memory::desc> described(dnnl::memory::format_tag data, dnnl::memory::format_tag weights) const {
    const auto& s = shape_;
    dnnl::memory::dims of_weights = {s.map_channels, s.group_image_channels(), s.filter[1], s.filter[2]};
    if (s.groups > 1)
      of_weights = {s.groups, s.group_map_channels(), s.group_image_channels(), s.filter[1], s.filter[2]};
    return {.image = {{s.n, s.image_channels, s.image[1], s.image[2]}, type_, data},
            .weights = {of_weights, type_, weights},
            .map = {{s.n, s.map_channels, s.map[1], s.map[2]}, type_, data}};
  }

  template <typename Visit>
  void for_each_of(dnnl::algorithm algorithm, InnerOrder order, const dnnl::engine& engine, Visit visit) const {
    using tag = dnnl::memory::format_tag;
    const tag data = order == InnerOrder::any ? tag::any : order == InnerOrder::nchw ? tag::nchw : tag::nhwc;
    const auto descs = described(data, tag::any);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    try {
      if (shape_.result == Tensor::map)
        visit_forward(algorithm, descs, attributes, engine, visit);
      else if (shape_.result == Tensor::image)
        visit_backward<dnnl::convolution_backward_data>(algorithm, descs, descs.image, descs.weights, descs.map,
                                                        attributes, engine, visit);
      else
        visit_backward<dnnl::convolution_backward_weights>(algorithm, descs, descs.image, descs.weights, descs.map,
                                                           attributes, engine, visit);
    } catch (const dnnl::error& error) {
      // Nothing is offered for this algorithm and order.
      if (error.status != dnnl_unimplemented && error.status != dnnl_invalid_arguments)
        fail(ErrorCode::unavailable, "oneDNN reported an error: {} (status {})", error.what(),
             static_cast<int>(error.status));
    }
  }

  /// Passes the first implementation of the forward pass to `use`; version 2 keeps a pointer to the description.
  template <typename Use>
  void with_forward(dnnl::prop_kind kind, dnnl::algorithm algorithm, const PerTensor<dnnl::memory::desc>& descs,
                    const dnnl::primitive_attr& attributes, const dnnl::engine& engine, Use use) const {
    forward_of<dnnl::convolution_forward>(kind, algorithm, descs, attributes, engine, use);
  }
  template <typename Conv, typename Use>
  void forward_of(dnnl::prop_kind kind, dnnl::algorithm algorithm, const PerTensor<dnnl::memory::desc>& descs,
                  const dnnl::primitive_attr& attributes, const dnnl::engine& engine, Use use) const {
    const auto strides = plane(shape_.stride), dilations = plane(shape_.dilation, 1), pad = plane(shape_.pad);
    using Implementation = typename Conv::primitive_desc;
    if constexpr (requires { typename Conv::desc; }) {
      const typename Conv::desc operation(kind, algorithm, descs.image, descs.weights, descs.map, strides, dilations,
                                          pad, pad);
      use(Implementation(operation, attributes, engine));
    } else {
      use(Implementation(engine, kind, algorithm, descs.image, descs.weights, descs.map, strides, dilations, pad, pad,
                         attributes));
    }
  }

  template <typename Visit>
  void visit_forward(dnnl::algorithm algorithm, const PerTensor<dnnl::memory::desc>& descs,
                     const dnnl::primitive_attr& attributes, const dnnl::engine& engine, Visit visit) const {
    with_forward(dnnl::prop_kind::forward_inference, algorithm, descs, attributes, engine, [&](auto implementation) {
      do {
        const PerTensor<dnnl::memory::desc> wanted{implementation.src_desc(), implementation.weights_desc(),
                                                   implementation.dst_desc()};
        if (!visit(OfferedConv{implementation.impl_info_str(), wanted, implementation.scratchpad_desc(),
                               [&] { return dnnl::convolution_forward(implementation); }}))
          return;
      } while (implementation.next_impl());
    });
  }

  /// The descriptions that an implementation of a backward pass wants.
  static PerTensor<dnnl::memory::desc> wanted_by(const dnnl::convolution_backward_data::primitive_desc& one) {
    return {one.diff_src_desc(), one.weights_desc(), one.diff_dst_desc()};
  }
  static PerTensor<dnnl::memory::desc> wanted_by(const dnnl::convolution_backward_weights::primitive_desc& one) {
    return {one.src_desc(), one.diff_weights_desc(), one.diff_dst_desc()};
  }

  template <typename Conv, typename Visit>
  void visit_backward(dnnl::algorithm algorithm, const PerTensor<dnnl::memory::desc>& descs,
                      const dnnl::memory::desc& image, const dnnl::memory::desc& weights, const dnnl::memory::desc& map,
                      const dnnl::primitive_attr& attributes, const dnnl::engine& engine, Visit visit) const {
    using Implementation = typename Conv::primitive_desc;
    const auto strides = plane(shape_.stride), dilations = plane(shape_.dilation, 1), pad = plane(shape_.pad);
    const auto visit_all = [&](Implementation implementation) {
      do {
        if (!visit(OfferedConv{implementation.impl_info_str(), wanted_by(implementation),
                               implementation.scratchpad_desc(), [&] { return Conv(implementation); }}))
          return;
      } while (implementation.next_impl());
    };
    // A backward pass is described after a forward one.
    with_forward(dnnl::prop_kind::forward_training, algorithm, descs, {}, engine, [&](const auto& forward) {
      if constexpr (requires { typename Conv::desc; }) {
        const typename Conv::desc operation(algorithm, image, weights, map, strides, dilations, pad, pad);
        visit_all(Implementation(operation, attributes, engine, forward));
      } else {
        visit_all(
            Implementation(engine, algorithm, image, weights, map, strides, dilations, pad, pad, forward, attributes));
      }
    });
  }

  ConvShape shape_;
  dnnl::memory::data_type type_;
};

/// The reorder between an operand's own description and the one that an implementation wants. Throws dnnl::error if
/// there is none: Winograd's weights of version 2 are made from plain ones only.
inline dnnl::reorder::primitive_desc reorder_of(const dnnl::memory::desc& wanted, const dnnl::memory::desc& own,
                                                bool is_result, const dnnl::engine& engine) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return {engine, is_result ? wanted : own, engine, is_result ? own : wanted, attributes};
}

/// Whether all reorders around an implementation exist.
inline bool has_reorders(ConvShape::Tensor result, const PerTensor<dnnl::memory::desc>& wanted,
                         const PerTensor<dnnl::memory::desc>& own, const dnnl::engine& engine) {
  using Tensor = ConvShape::Tensor;
  try {
    if (wanted.image != own.image) reorder_of(wanted.image, own.image, result == Tensor::image, engine);
    if (wanted.weights != own.weights) reorder_of(wanted.weights, own.weights, result == Tensor::weights, engine);
    if (wanted.map != own.map) reorder_of(wanted.map, own.map, result == Tensor::map, engine);
  } catch (const dnnl::error&) {
    return false;
  }
  return true;
}

/// A primitive with the reorders around it. Their arguments are made once: execute() allocates nothing.
class PreparedConv {
 public:
  /// Throws dnnl::error.
  PreparedConv(const ConvShape& shape, const OfferedConv& offered, const PerTensor<dnnl::memory::desc>& operands,
               const dnnl::engine& engine)
      : result_(shape.result), conv_(offered.create()) {
    host_bytes_ = onednn_primitive_bytes(offered.name);
    const bool is_forward = result_ == ConvShape::Tensor::map;
    const int map = is_forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST;
    const int image = result_ == ConvShape::Tensor::image ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC;
    const int weights = result_ == ConvShape::Tensor::weights ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS;
    add(image, offered.descs.image, operands.image, engine, shape.image_operand, result_ == ConvShape::Tensor::image);
    add(weights, offered.descs.weights, operands.weights, engine, shape.weights_operand,
        result_ == ConvShape::Tensor::weights);
    add(map, offered.descs.map, operands.map, engine, shape.map_operand, is_forward);
    arguments_.emplace(DNNL_ARG_SCRATCHPAD, dnnl::memory(offered.scratchpad, engine, DNNL_MEMORY_NONE));
    uint64_t scratchpad = offered.scratchpad.get_size();
    for (const Moved& one : moved_) scratchpad = std::max(scratchpad, one.scratchpad_bytes);
    scratchpad_offset_ = placed(scratchpad);
  }
  uint64_t workspace_bytes() const { return workspace_bytes_; }
  uint64_t host_bytes() const { return host_bytes_; }

  void execute(dnnl::stream& stream, std::span<void* const> operands, void* workspace) const {
    auto* const base = static_cast<std::byte*>(workspace);
    void* const scratchpad = base + scratchpad_offset_;
    for (const Direct& one : direct_) arguments_.at(one.argument).set_data_handle(operands[one.operand]);
    for (const Moved& one : moved_) {
      arguments_.at(one.argument).set_data_handle(base + one.offset);
      if (!one.is_result) move(one, stream, operands[one.operand], base + one.offset, scratchpad);
    }
    arguments_.at(DNNL_ARG_SCRATCHPAD).set_data_handle(scratchpad);
    conv_.execute(stream, arguments_);
    for (const Moved& one : moved_) {
      if (one.is_result) move(one, stream, base + one.offset, operands[one.operand], scratchpad);
    }
    stream.wait();
  }

 private:
  /// An operand that the primitive reads or writes where it lies.
  struct Direct {
    int argument;
    size_t operand;
  };
  /// An operand in another order, in the workspace.
  struct Moved {
    int argument;
    size_t operand;
    bool is_result;
    uint64_t offset, scratchpad_bytes;
    dnnl::reorder reorder;
    mutable std::unordered_map<int, dnnl::memory> arguments;
  };

  uint64_t placed(uint64_t bytes) { return std::exchange(workspace_bytes_, (workspace_bytes_ + bytes + 63) / 64 * 64); }

  void add(int argument, const dnnl::memory::desc& wanted, const dnnl::memory::desc& own, const dnnl::engine& engine,
           size_t operand, bool is_result) {
    arguments_.emplace(argument, dnnl::memory(wanted, engine, DNNL_MEMORY_NONE));
    if (wanted == own) {
      direct_.push_back({argument, operand});
      return;
    }
    const auto& from = is_result ? wanted : own;
    const auto& to = is_result ? own : wanted;
    const auto reorder = reorder_of(wanted, own, is_result, engine);
    Moved moved{argument,
                operand,
                is_result,
                placed(wanted.get_size()),
                reorder.scratchpad_desc().get_size(),
                dnnl::reorder(reorder),
                {}};
    moved.arguments.emplace(DNNL_ARG_FROM, dnnl::memory(from, engine, DNNL_MEMORY_NONE));
    moved.arguments.emplace(DNNL_ARG_TO, dnnl::memory(to, engine, DNNL_MEMORY_NONE));
    moved.arguments.emplace(DNNL_ARG_SCRATCHPAD, dnnl::memory(reorder.scratchpad_desc(), engine, DNNL_MEMORY_NONE));
    host_bytes_ += onednn_primitive_bytes("reorder");
    moved_.push_back(std::move(moved));
  }

  static void move(const Moved& one, dnnl::stream& stream, void* from, void* to, void* scratchpad) {
    one.arguments.at(DNNL_ARG_FROM).set_data_handle(from);
    one.arguments.at(DNNL_ARG_TO).set_data_handle(to);
    one.arguments.at(DNNL_ARG_SCRATCHPAD).set_data_handle(scratchpad);
    one.reorder.execute(stream, one.arguments);
  }

  ConvShape::Tensor result_;
  dnnl::primitive conv_;
  std::vector<Direct> direct_;
  std::vector<Moved> moved_;
  mutable std::unordered_map<int, dnnl::memory> arguments_;
  uint64_t workspace_bytes_ = 0, host_bytes_ = 0, scratchpad_offset_ = 0;
};

}  // namespace attune
