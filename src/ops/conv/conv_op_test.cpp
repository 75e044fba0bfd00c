// SPDX-License-Identifier: MIT
#include "ops/conv/conv_op.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "attune/error.h"
#include "ops/conv/conv_shape.h"
#include "tensor/convert.h"
#include "tensor/rounding.h"

namespace attune {
namespace {

Problem conv(const std::string& attributes) {
  const Problem problem = Problem::parse("conv " + attributes);
  return op_of(problem).normalise(problem, {});
}

std::string conv_refusal(const std::string& attributes) {
  try {
    conv(attributes);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

struct ConvCall {
  explicit ConvCall(const Problem& its_problem, Distribution distribution = Distribution::normal)
      : problem(its_problem), op(op_of(problem)) {
    for (const TensorSpec& tensor : op.tensors(problem)) bytes.emplace_back(tensor.bytes());
    for (auto& one : bytes) host.operands.emplace_back(one);
    op.fill(problem, distribution, 7, host);
  }
  Reference reference(Path path) const { return whole_reference(op, problem, path, host); }
  float* floats(size_t operand) { return reinterpret_cast<float*>(bytes[operand].data()); }

  Problem problem;
  const Op& op;
  std::vector<std::vector<std::byte>> bytes;
  HostTensors host;
};

TEST(ConvOp, NormalisesToOneSpelling) {
  EXPECT_EQ(conv("x=3 y=3 k=8 c=4 w=6 h=5 n=1 pad_h=0 stride_w=1 groups=1 layout=nchw direction=FWD").key(),
            "conv direction=fwd n=1 c=4 h=5 w=6 k=8 y=3 x=3 dtype=fp32");
  EXPECT_EQ(conv("n=1 c=4 h=5 w=6 k=8 y=3 x=3 pad_h=1 stride_w=2 groups=2 dtype=bfloat16 layout=nhwc").key(),
            "conv direction=fwd n=1 c=4 h=5 w=6 k=8 y=3 x=3 pad_h=1 stride_w=2 groups=2 dtype=bf16 layout=NHWC");
  EXPECT_EQ(conv("direction=bwd_data n=1 c=4 d=3 h=5 w=6 k=8 z=2 y=3 x=3 layout=NCDHW").key(),
            "conv direction=bwd_data n=1 c=4 d=3 h=5 w=6 k=8 z=2 y=3 x=3 dtype=fp32 layout=NCDHW");
}

TEST(ConvOp, RefusesByAttribute) {
  using testing::HasSubstr;
  const std::string sizes = "n=1 c=6 h=5 w=5 k=4 y=3 x=3 ";
  EXPECT_THAT(conv_refusal(sizes + "groups=3"), HasSubstr("'groups' must divide 'k': 3 does not divide 4"));
  EXPECT_THAT(conv_refusal(sizes + "groups=4"), HasSubstr("'groups' must divide 'c'"));
  EXPECT_THAT(conv_refusal(sizes + "groups=0"), HasSubstr("'groups'"));
  EXPECT_THAT(conv_refusal("n=1 c=1 h=2 w=5 k=1 y=3 x=3"), HasSubstr("'h' is too small for the filter"));
  EXPECT_THAT(conv_refusal("n=1 c=1 h=5 w=5 k=1 y=3 x=3 dilation_w=3"), HasSubstr("'w' is too small"));
  EXPECT_THAT(conv_refusal(sizes + "stride_h=0"), HasSubstr("'stride_h'"));
  EXPECT_THAT(conv_refusal(sizes + "pad_w=-1"), HasSubstr("'pad_w'"));
  EXPECT_THAT(conv_refusal(sizes + "z=2"), HasSubstr("'z' needs a 3-D layout"));
  EXPECT_THAT(conv_refusal(sizes + "layout=CHWN"), HasSubstr("'layout' expects one of NCHW"));
  EXPECT_THAT(conv_refusal(sizes + "dtype=fp64"), HasSubstr("supports dtype of fp32"));
  EXPECT_THAT(conv_refusal(sizes + "output_pad_h=1"), HasSubstr("'output_pad_h' is for transposed=1 only"));
  EXPECT_THAT(conv_refusal(sizes + "transposed=1 output_pad_h=1"), HasSubstr("'output_pad_h' must be below"));
  EXPECT_THAT(conv_refusal("n=1000000 c=1000000 h=10 w=1 k=1 y=1 x=1"), HasSubstr("the input would have 40 TB"));
  EXPECT_THAT(conv_refusal("n=2147483647 c=2147483647 h=2147483647 w=2147483647 k=2147483647 y=2147483647 "
                           "x=2147483647 pad_h=2147483647 pad_w=2147483647"),
              HasSubstr("'h' is too large"));
  EXPECT_THAT(conv_refusal("n=1 c=1 h=5 w=5 k=1 y=3"), HasSubstr("needs the attribute 'x'"));
}

TEST(ConvOp, CountsEachProductOnce) {
  const Problem forward = conv("n=2 c=4 h=5 w=6 k=8 y=3 x=3 stride_h=2 groups=2 dtype=bf16");
  const Work work = ConvOp().work(forward);
  EXPECT_EQ(work.flops, 2.0 * 2 * 8 * (2 * 4) * (2 * 9));
  EXPECT_EQ(work.bytes, 2.0 * (2 * 4 * 5 * 6 + 8 * 2 * 9 + 2 * 8 * 2 * 4));
  EXPECT_EQ(work.arithmetic, DType::bf16);
  EXPECT_EQ(ConvOp().work(forward.with("direction", "bwd_weights")).flops, work.flops);
}

TEST(ConvOp, OperandsAreInputsThenTheResult) {
  const auto roles = [](const char* direction) {
    std::string text;
    for (const TensorSpec& one :
         ConvOp().tensors(conv(std::string("n=2 c=4 h=5 w=6 k=8 y=3 x=2 groups=2 layout=NHWC direction=") + direction)))
      text += one.role + testing::PrintToString(one.shape);
    return text;
  };
  EXPECT_EQ(roles("fwd"), "input{ 2, 5, 6, 4 }weight{ 8, 3, 2, 2 }output{ 2, 3, 5, 8 }");
  EXPECT_EQ(roles("bwd_data"), "output_grad{ 2, 3, 5, 8 }weight{ 8, 3, 2, 2 }input_grad{ 2, 5, 6, 4 }");
  EXPECT_EQ(roles("bwd_weights"), "input{ 2, 5, 6, 4 }output_grad{ 2, 3, 5, 8 }weight_grad{ 8, 3, 2, 2 }");
}

TEST(ConvOp, BothReferencesAgreeForEverySample) {
  for (const std::string_view text : find_family("conv")->samples) {
    const ConvCall call(conv(std::string(text)));
    const Reference slow = call.reference(Path::naive), fast = call.reference(Path::fast);
    for (size_t i = 0; i < slow.values.size(); ++i) {
      ASSERT_NEAR(slow.values[i], fast.values[i], 1e-12 * (1 + slow.scales[i])) << text << " element " << i;
      ASSERT_NEAR(slow.scales[i], fast.scales[i], 1e-9 * slow.scales[i]) << text << " element " << i;
    }
  }
}

/// Callers ask for blocks of rows and columns.
TEST(ConvOp, APartOfAReferenceIsTheSameAsTheWhole) {
  for (const char* text :
       {"n=3 c=6 h=5 w=4 k=8 y=3 x=3 pad_h=1 groups=2", "n=3 c=6 h=5 w=4 k=8 y=3 x=3 pad_h=1 groups=2 layout=NHWC",
        "direction=bwd_data n=3 c=6 h=5 w=4 k=8 y=3 x=3 groups=2",
        "direction=bwd_weights n=3 c=6 h=5 w=4 k=8 y=3 x=3 groups=2 layout=NHWC"}) {
    const ConvCall call(conv(text));
    const Reference whole = call.reference(Path::fast);
    const int64_t rows = call.op.output_rows(call.problem);
    const int64_t columns = std::ssize(whole.values) / rows;
    for (const IndexRange range : {IndexRange{0, 1}, IndexRange{columns - 1, columns}, IndexRange{2, 3},
                                   IndexRange{5, 19}, IndexRange{3, columns - 2}}) {
      std::vector<double> values(static_cast<size_t>(range.size())), scales(values.size());
      call.op.reference(call.problem, Path::fast, call.host, {{1, 2}, range, values, scales});
      for (int64_t i = 0; i < range.size(); ++i) {
        const auto at = static_cast<size_t>(columns + range.begin + i);
        ASSERT_EQ(values[static_cast<size_t>(i)], whole.values[at]) << text << " " << i;
        ASSERT_EQ(scales[static_cast<size_t>(i)], whole.scales[at]) << text << " " << i;
      }
    }
  }
}

TEST(ConvOp, ComputesSmallProblemsAsByHand) {
  ConvCall call(conv("n=1 c=1 h=3 w=3 k=1 y=2 x=2 pad_h=1 pad_w=1 stride_h=2 stride_w=2"));
  for (int i = 0; i < 9; ++i) call.floats(0)[i] = static_cast<float>(i + 1);
  for (int i = 0; i < 4; ++i) call.floats(1)[i] = static_cast<float>(i + 1);
  EXPECT_THAT(call.reference(Path::fast).values,
              testing::ElementsAre(4, 3 * 2 + 4 * 3, 2 * 4 + 4 * 7, 5 + 12 + 24 + 36));
  ConvCall transposed(conv("n=1 c=1 h=2 w=1 k=1 y=2 x=1 stride_h=2 transposed=1 output_pad_h=1"));
  transposed.floats(0)[0] = 3;
  transposed.floats(0)[1] = 5;
  transposed.floats(1)[0] = 10;
  transposed.floats(1)[1] = 100;
  EXPECT_THAT(transposed.reference(Path::naive).values, testing::ElementsAre(30, 300, 50, 500, 0));
}

/// A direct kernel that sums in fp32, and the faults that kernels of convolutions have.
enum class Fault { none, padding_is_data, tap_dropped, groups_mixed, dilation_ignored, not_flipped, last_tile };

std::vector<float> direct(ConvCall& call, Fault fault) {
  const auto shape = ConvShape::of(call.problem);
  ConvShape used = shape;
  if (fault == Fault::dilation_ignored) used.dilation = {1, 1, 1};
  const bool is_map = shape.result == ConvShape::Tensor::map, is_image = shape.result == ConvShape::Tensor::image;
  const int64_t image_size = product(shape.image), map_size = product(shape.map);
  std::vector<float> result(call.bytes.back().size() / sizeof(float));
  const float* const image = call.floats(shape.image_operand);
  const float* const map = call.floats(shape.map_operand);
  const float* const weights = call.floats(shape.weights_operand);
  for (int64_t n = 0; n < shape.n; ++n) {
    for (int64_t m = 0; m < shape.map_channels; ++m) {
      for (int64_t o = 0; o < map_size; ++o) {
        for (int64_t c = 0; c < shape.group_image_channels(); ++c) {
          for (int64_t tap = 0; tap < shape.taps(); ++tap) {
            if (fault == Fault::tap_dropped && tap == shape.taps() - 1) continue;
            Extents tap_at = split(tap, shape.filter);
            if (fault == Fault::not_flipped) {
              for (size_t i = 0; i < tap_at.size(); ++i) tap_at[i] = shape.filter[i] - 1 - tap_at[i];
            }
            int64_t from = used.image_position(split(o, shape.map), tap_at);
            if (from < 0 && fault == Fault::padding_is_data && is_map) from = 0;
            if (from < 0) continue;
            int64_t group = m / shape.group_map_channels();
            if (fault == Fault::groups_mixed) group = (group + 1) % shape.groups;
            const int64_t i = shape.index(n, group * shape.group_image_channels() + c, from, shape.image_channels,
                                          image_size),
                          j = shape.index(n, m, o, shape.map_channels, map_size), k = shape.weight_index(m, c, tap);
            if (is_map)
              result[static_cast<size_t>(j)] += image[i] * weights[k];
            else if (is_image)
              result[static_cast<size_t>(i)] += map[j] * weights[k];
            else
              result[static_cast<size_t>(k)] += image[i] * map[j];
          }
        }
      }
    }
  }
  if (fault == Fault::last_tile) {
    for (size_t i = result.size() - 3; i < result.size(); ++i) result[i] = 0;
  }
  return result;
}

/// The largest error in units of the bound: right up to 1.
double error_of(ConvCall& call, Fault fault) {
  const Reference want = call.reference(Path::fast);
  const std::vector<float> got = direct(call, fault);
  const double bound = call.op.tolerance(call.problem).max_relative, unit = Rounding::of(DType::fp32).unit;
  double largest = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(static_cast<double>(got[i]) - want.values[i]) - unit * std::abs(want.values[i]);
    if (error > 0) largest = std::max(largest, error / (bound * want.scales[i]));
  }
  return largest;
}

TEST(ConvOp, TheBoundAcceptsSumsInFp32AndRejectsPlantedFaults) {
  using enum Fault;
  for (const char* direction : {"fwd", "bwd_data", "bwd_weights"}) {
    for (const char* layout : {"NCHW", "NHWC"}) {
      for (const char* transposed : {"0", "1"}) {
        ConvCall call(conv(std::string("n=2 c=8 h=9 w=8 k=8 y=3 x=3 pad_h=1 pad_w=2 dilation_h=2 groups=2 direction=") +
                           direction + " layout=" + layout + " transposed=" + transposed));
        EXPECT_LT(error_of(call, none), 0.5) << call.problem.key();
        for (const Fault fault : {tap_dropped, groups_mixed, dilation_ignored, not_flipped, last_tile})
          EXPECT_GT(error_of(call, fault), 10) << call.problem.key() << " fault " << static_cast<int>(fault);
        if (ConvShape::of(call.problem).result == ConvShape::Tensor::map) {
          EXPECT_GT(error_of(call, padding_is_data), 10) << call.problem.key();
        }
      }
    }
  }
}

}  // namespace
}  // namespace attune
