// SPDX-License-Identifier: MIT
// The key is permanent (docs/adr/0035). Values of a Key are in the order of `key`.
#include "attune/error.h"
#include "ops/conv/conv_op.h"
#include "ops/conv/conv_shape.h"
#include "ops/counted_work.h"

namespace attune {
namespace {

/// Every direction, layout and type; groups, depth-wise too; strides, pads and dilations that differ by axis; outputs
/// that leave a remainder; transposed and 3-D problems.
constexpr std::string_view kConvSamples[] = {
    "direction=fwd n=1 c=1 h=1 w=1 k=1 y=1 x=1",
    "direction=fwd n=2 c=16 h=9 w=7 k=24 y=3 x=3 pad_h=1 pad_w=1",
    "direction=bwd_data n=2 c=16 h=9 w=7 k=24 y=3 x=3 pad_h=1 pad_w=1",
    "direction=bwd_weights n=2 c=16 h=9 w=7 k=24 y=3 x=3 pad_h=1 pad_w=1",
    "direction=fwd n=3 c=5 h=12 w=11 k=7 y=2 x=3 pad_h=1 pad_w=2 stride_h=2 stride_w=3",
    "direction=bwd_data n=3 c=5 h=12 w=11 k=7 y=2 x=3 pad_h=1 pad_w=2 stride_h=2 stride_w=3",
    "direction=bwd_weights n=3 c=5 h=12 w=11 k=7 y=2 x=3 pad_h=1 pad_w=2 stride_h=2 stride_w=3",
    "direction=fwd n=1 c=6 h=13 w=10 k=9 y=3 x=2 dilation_h=2 dilation_w=3 groups=3",
    "direction=bwd_data n=1 c=6 h=13 w=10 k=9 y=3 x=2 dilation_h=2 dilation_w=3 groups=3",
    "direction=bwd_weights n=1 c=6 h=13 w=10 k=9 y=3 x=2 dilation_h=2 dilation_w=3 groups=3",
    "direction=fwd n=2 c=8 h=8 w=8 k=8 y=3 x=3 pad_h=1 pad_w=1 groups=8 layout=NHWC",
    "direction=bwd_data n=2 c=32 h=8 w=8 k=16 y=1 x=1 stride_h=2 stride_w=2 layout=NHWC",
    "direction=bwd_weights n=2 c=12 h=8 w=9 k=20 y=3 x=3 pad_h=1 pad_w=1 groups=4 layout=NHWC",
    "direction=fwd n=4 c=32 h=14 w=14 k=32 y=3 x=3 pad_h=1 pad_w=1 dtype=bf16",
    "direction=bwd_data n=2 c=10 h=7 w=7 k=6 y=3 x=3 pad_h=1 pad_w=1 stride_h=2 stride_w=2 dtype=bf16 layout=NHWC",
    "direction=bwd_weights n=2 c=16 h=7 w=7 k=16 y=3 x=3 pad_h=1 pad_w=1 dtype=bf16",
    "direction=fwd n=2 c=12 h=6 w=5 k=10 y=3 x=3 pad_h=1 pad_w=1 dtype=fp16",
    "direction=bwd_data n=2 c=12 h=6 w=5 k=10 y=3 x=3 pad_h=1 pad_w=1 dtype=fp16",
    "direction=bwd_weights n=2 c=12 h=6 w=5 k=10 y=3 x=3 pad_h=1 pad_w=1 dtype=fp16 layout=NHWC",
    "direction=fwd n=2 c=6 h=5 w=4 k=8 y=3 x=3 pad_h=1 stride_h=2 stride_w=3 groups=2 transposed=1 output_pad_h=1",
    "direction=bwd_data n=2 c=6 h=5 w=4 k=8 y=3 x=2 pad_h=1 stride_h=2 stride_w=2 transposed=1 layout=NHWC",
    "direction=bwd_weights n=2 c=6 h=5 w=4 k=8 y=3 x=2 pad_h=1 stride_h=2 stride_w=2 groups=2 transposed=1",
    "direction=fwd n=1 c=4 h=6 w=5 k=6 y=2 x=3 layout=NCDHW d=4 z=3 pad_d=1 pad_h=1 stride_d=2 groups=2",
    "direction=bwd_data n=1 c=4 h=6 w=5 k=6 y=2 x=3 layout=NDHWC d=4 z=3 pad_d=1 pad_w=1 dilation_d=2",
    "direction=bwd_weights n=1 c=4 h=6 w=5 k=6 y=2 x=3 layout=NCDHW d=4 z=2 stride_d=2"};

CountedWork counted_convolution(const Problem& problem) {
  try {
    const ConvOp op;
    const Work work = op.work(op.normalise(problem, {}));
    return {.flops = work.flops, .bytes = work.bytes, .least_bytes = work.bytes, .arithmetic = work.arithmetic};
  } catch (const Error&) {
    return {};  // A row of a table that is no convolution.
  }
}

AttributeSpec conv_extent(std::string_view name, std::string_view help) {
  return {.name = name, .column = name, .help = help};
}

/// An attribute with a default, which a problem's text states only where it differs.
AttributeSpec conv_step(std::string_view name, std::string_view default_value, int64_t min, std::string_view help) {
  return {.name = name, .column = name, .default_value = default_value, .always = false, .help = help, .min = min};
}

AttributeSpec depth_step(std::string_view name, std::string_view default_value, int64_t min, std::string_view help) {
  AttributeSpec spec = conv_step(name, default_value, min, help);
  spec.optional = true;
  return spec;
}

}  // namespace

const FamilySpec& conv_family() {
  using enum ColumnKind;
  static const FamilySpec family = {
      .number = OpId::conv,
      .op = "conv",
      .title = "convolution, its gradients of data and weights, 2-D and 3-D",
      .default_file = "conv_tuned.csv",
      .stem = "conv",
      .variable = "CONV",
      .key = {{.name = "direction",
               .column = "direction",
               .kind = choice,
               .default_value = "fwd",
               .allowed = {kConvDirections.begin(), kConvDirections.end()},
               .help = "what is computed: the output, or the gradient of the input or of the weights"},
              conv_extent("n", "images"),
              conv_extent("c", "channels of the input"),
              conv_extent("h", "rows of the input"),
              conv_extent("w", "columns of the input"),
              conv_extent("k", "channels of the output"),
              conv_extent("y", "rows of the filter"),
              conv_extent("x", "columns of the filter"),
              conv_step("pad_h", "0", 0, "rows of zeros above and below the input"),
              conv_step("pad_w", "0", 0, "columns of zeros left and right of the input"),
              conv_step("stride_h", "1", 1, "rows from one position of the filter to the next"),
              conv_step("stride_w", "1", 1, "columns from one position of the filter to the next"),
              conv_step("dilation_h", "1", 1, "rows from one row of the filter to the next"),
              conv_step("dilation_w", "1", 1, "columns from one column of the filter to the next"),
              conv_step("groups", "1", 1, "groups of channels that are convolved alone"),
              {.name = "dtype",
               .column = "dtype",
               .kind = dtype,
               .default_value = "fp32",
               .allowed = {"fp32", "bf16", "fp16", "int8", "e4m3fn", "e4m3fnuz"},
               .help = "type of all tensors"},
              // The column `layout` of all tables names the order of packed weights.
              {.name = "layout",
               .column = "tensor_layout",
               .kind = choice,
               .default_value = "NCHW",
               .always = false,
               .optional = true,
               .allowed = {kConvLayouts.begin(), kConvLayouts.end()},
               .help = "order of all tensors; with D: 3-D"},
              {.name = "transposed",
               .column = "transposed",
               .kind = flag,
               .default_value = "0",
               .always = false,
               .optional = true,
               .help = "transposed convolution, whose strides widen the output"},
              depth_step("d", "1", 1, "planes of the input"),
              depth_step("z", "1", 1, "planes of the filter"),
              depth_step("pad_d", "0", 0, "planes of zeros before and behind the input"),
              depth_step("stride_d", "1", 1, "planes from one position of the filter to the next"),
              depth_step("dilation_d", "1", 1, "planes from one plane of the filter to the next"),
              depth_step("output_pad_h", "0", 0, "rows added to the output of a transposed convolution"),
              depth_step("output_pad_w", "0", 0, "columns added to the output of a transposed convolution"),
              depth_step("output_pad_d", "0", 0, "planes added to the output of a transposed convolution")},
      .text_order = {"direction",
                     "n",
                     "c",
                     "d",
                     "h",
                     "w",
                     "k",
                     "z",
                     "y",
                     "x",
                     "pad_d",
                     "pad_h",
                     "pad_w",
                     "stride_d",
                     "stride_h",
                     "stride_w",
                     "dilation_d",
                     "dilation_h",
                     "dilation_w",
                     "groups",
                     "dtype",
                     "layout",
                     "transposed",
                     "output_pad_d",
                     "output_pad_h",
                     "output_pad_w"},
      .results = {"libtype", "us", "kernelName", "errRatio", "tflops", "bw"},
      .baselines = {"onednn.conv", "onednn3.conv", "fake.conv"},
      .fallback = "conv.im2col",
      .packages = {{"onednn.conv", "cpu", "bf16", "libdnnl-dev"}},
      .report_axis = "direction",
      .counted_work = counted_convolution,
      .samples = kConvSamples,
  };
  return family;
}

}  // namespace attune
