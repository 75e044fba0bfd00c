// SPDX-License-Identifier: MIT
#include "measure/operands/sampled_inputs.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "device/fake/fake_device.h"
#include "ops/op.h"

namespace attune {
namespace {

TEST(SampledInputs, ElementsComputedFromThemAreThoseOfAllInputs) {
  for (const char* key :
       {"gemm_a16w16 m=7 n=9 k=33 dtype=bf16", "gemm_a16w16 m=7 n=9 k=33 trans_a=1 trans_b=0 dtype=fp16",
        "gemm_a16w16 m=7 n=9 k=33 bias=1 act=gelu alpha=any beta=any out_scale=1 dtype=bf16 outdtype=fp32",
        "gemm_a16w16 m=7 n=9 k=33 trans_a=1 bias=1 beta=1 dtype=fp32"}) {
    const Problem written = Problem::parse(key);
    const Op& op = op_of(written);
    const Problem problem = op.normalise(written, FakeDevice::describe());
    for (const Distribution distribution : {Distribution::normal, Distribution::integers}) {
      std::vector<std::vector<std::byte>> bytes;
      HostTensors all;
      for (const TensorSpec& spec : op.tensors(problem)) bytes.emplace_back(spec.bytes());
      for (auto& one : bytes) all.operands.emplace_back(one);
      op.fill(problem, distribution, 5, all);
      const Reference expected = whole_reference(op, problem, Path::naive, all);
      const std::array elements = {SampledInputs::Element{0, 0}, SampledInputs::Element{3, 8},
                                   SampledInputs::Element{6, 2}};
      const SampledInputs sampled(op, problem, distribution, 5, elements);
      const HostTensors some = sampled.tensors();
      for (const auto& [row, column] : elements) {
        double value = 0, scale = 0;
        op.reference(problem, Path::naive, some, {{row, row + 1}, {column, column + 1}, {&value, 1}, {&scale, 1}});
        EXPECT_EQ(value, expected.values[static_cast<size_t>(row * 9 + column)]) << key;
        EXPECT_EQ(scale, expected.scales[static_cast<size_t>(row * 9 + column)]) << key;
      }
    }
  }
}

TEST(SampledInputs, WhatNoElementNeedsIsNotWritten) {
  const Problem written = Problem::parse("gemm_a16w16 m=7 n=9 k=33");
  const Op& op = op_of(written);
  const Problem problem = op.normalise(written, FakeDevice::describe());
  const std::array elements = {SampledInputs::Element{2, 4}};
  const SampledInputs sampled(op, problem, Distribution::normal, 5, elements);
  const auto x = sampled.tensors().operands[0];
  for (size_t i = 0; i < x.size(); ++i) {
    const bool is_row_2 = i / 66 == 2;
    if (!is_row_2) {
      ASSERT_EQ(x[i], std::byte{0}) << i;
    }
  }
}

}  // namespace
}  // namespace attune
