// SPDX-License-Identifier: MIT
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "device/device.h"
#include "device/own_buffer.h"
#include "measure/comparison/compare.h"
#include "measure/comparison/device_comparison.h"
#include "measure/operands/device_fill.h"
#include "measure/operands/device_reference.h"
#include "ops/op.h"
#include "tensor/convert.h"

namespace attune {

/// A problem's operands on the host and on the device, and the reference that the device computes.
struct ComputedReference {
  ComputedReference(Device& device, const std::string& key) {
    const Problem parsed = Problem::parse(key);
    const Op& op = op_of(parsed);
    problem = op.normalise(parsed, device.info());
    specs = op.tensors(problem);
    for (const TensorSpec& spec : specs) host_bytes.emplace_back(spec.bytes());
    for (auto& one : host_bytes) host.operands.emplace_back(one);
    op.fill(problem, Distribution::normal, 3, host);
    std::vector<const void*> inputs;
    for (size_t i = 0; i + 1 < specs.size(); ++i) {
      device_bytes.emplace_back(device.memory(), specs[i].bytes(), 16);
      device.memory().upload(device_bytes.back().data(), host_bytes[i]);
      inputs.push_back(device_bytes.back().data());
    }
    const auto count = static_cast<size_t>(specs.back().elements());
    on_device.emplace(device, specs.back().elements());
    const auto kernel = DeviceReferenceKernel::open(device, op, problem);
    if (kernel == nullptr) throw std::runtime_error("there is no kernel for the reference");
    kernel->compute(inputs, *on_device);
    computed.values.resize(count);
    computed.scales.resize(count);
    on_device->read(0, computed.values, computed.scales);
  }
  Problem problem;
  std::vector<TensorSpec> specs;
  std::vector<std::vector<std::byte>> host_bytes;
  HostTensors host;
  std::vector<OwnBuffer> device_bytes;
  Reference computed;
  std::optional<DeviceReference> on_device;
};

/// Products whose whole reference the host computes by the naive path.
inline constexpr const char* kReferenceKeys[] = {"gemm_a16w16 m=1 n=1 k=1",
                                                 "gemm_a16w16 m=64 n=64 k=16",
                                                 "gemm_a16w16 m=65 n=130 k=33 dtype=fp32",
                                                 "gemm_a16w16 m=7 n=129 k=300 dtype=fp16",
                                                 "gemm_a16w16 m=70 n=66 k=50 trans_a=1 trans_b=0",
                                                 "gemm_a16w16 m=70 n=66 k=50 trans_a=1 dtype=fp32",
                                                 "gemm_a16w16 m=33 n=70 k=17 trans_b=0 bias=1",
                                                 "gemm_a16w16 m=9 n=20 k=40 bias=1 act=gelu outdtype=fp32",
                                                 "gemm_a16w16 m=9 n=20 k=40 act=gelu_tanh beta=any",
                                                 "gemm_a16w16 m=9 n=20 k=40 act=silu alpha=any out_scale=1",
                                                 "gemm_a16w16 m=9 n=20 k=40 alpha=0 beta=1",
                                                 "gemm_a16w16 m=9 n=20 k=40 act=relu beta=1 bias=1"};
/// Products of the sizes that are tuned, for a GPU.
inline constexpr const char* kLargeReferenceKeys[] = {
    "gemm_a16w16 m=333 n=4099 k=2056 dtype=bf16", "gemm_a16w16 m=333 n=4099 k=2056 dtype=fp16 bias=1 act=gelu",
    "gemm_a16w16 m=333 n=4099 k=2056 dtype=fp32", "gemm_a16w16 m=515 n=1536 k=18432 dtype=bf16"};
/// More elements than a million, and sums as long, in a size that a host computes in place of a GPU.
inline constexpr const char* kLongReferenceKeys[] = {"gemm_a16w16 m=1030 n=1031 k=3 dtype=bf16",
                                                     "gemm_a16w16 m=3 n=130 k=18432 dtype=bf16"};

/// Checks the references that a device computes of products against the naive path.
inline void check_device_references(Device& device) {
  for (const char* key : kReferenceKeys) {
    const ComputedReference one(device, key);
    const Reference naive = whole_reference(op_of(one.problem), one.problem, Path::naive, one.host);
    for (size_t i = 0; i < naive.values.size(); ++i) {
      const double scale = naive.scales[i], bound = 1e-12 * (scale + std::abs(naive.values[i]));
      ASSERT_NEAR(one.computed.values[i], naive.values[i], bound) << key << ", element " << i;
      ASSERT_NEAR(one.computed.scales[i], scale, 1e-12 * scale) << key << ", element " << i;
    }
  }
}

/// Checks elements of larger references, each computed and read alone: those in the corners and in the last tiles, and
/// `count` others.
inline void check_large_device_references(Device& device, std::span<const char* const> keys, int count = 500) {
  for (const char* key : keys) {
    const ComputedReference one(device, key);
    const Op& op = op_of(one.problem);
    const int64_t rows = op.output_rows(one.problem), columns = one.specs.back().elements() / rows;
    std::vector<std::pair<int64_t, int64_t>> elements;
    for (const int64_t row : {int64_t{0}, rows - 2, rows - 1})
      for (const int64_t column : {int64_t{0}, columns - 2, columns - 1}) elements.emplace_back(row, column);
    Random random(7);
    for (int i = 0; i < count; ++i)
      elements.emplace_back(random.below(static_cast<uint64_t>(rows)), random.below(static_cast<uint64_t>(columns)));
    for (const auto& [row, column] : elements) {
      double value = 0, scale = 0, found_value = 0, found_scale = 0;
      op.reference(one.problem, Path::naive, one.host,
                   {{row, row + 1}, {column, column + 1}, {&value, 1}, {&scale, 1}});
      one.on_device->read(row * columns + column, {&found_value, 1}, {&found_scale, 1});
      // The order of a long sum is another one.
      const double bound = 1e-11 * (scale + std::abs(value));
      ASSERT_NEAR(found_value, value, bound) << key << ", row " << row << ", column " << column;
      ASSERT_NEAR(found_scale, scale, 1e-11 * scale) << key << ", row " << row << ", column " << column;
    }
  }
}

/// Checks that a device writes the inputs of problems as the host does.
inline void check_device_fill(Device& device) {
  for (const char* key :
       {"gemm_a16w16 m=301 n=203 k=1000 dtype=bf16", "gemm_a16w16 m=70 n=66 k=500 dtype=fp16 act=silu bias=1",
        "gemm_a16w16 m=9 n=2000 k=1501 dtype=fp32 alpha=any beta=any out_scale=1", "gemm_a16w16 m=1 n=1 k=1"}) {
    const Problem parsed = Problem::parse(key);
    const Op& op = op_of(parsed);
    const Problem problem = op.normalise(parsed, device.info());
    const auto fill = DeviceFill::open(device, op, problem);
    ASSERT_NE(fill, nullptr) << key;
    for (const Distribution distribution : {Distribution::normal, Distribution::integers}) {
      std::vector<std::vector<std::byte>> expected;
      std::vector<OwnBuffer> there;
      HostTensors host;
      std::vector<Buffer> inputs;
      for (const TensorSpec& spec : op.tensors(problem)) {
        expected.emplace_back(spec.bytes());
        there.emplace_back(device.memory(), spec.bytes(), 16);
        if (spec.use != Use::output) inputs.push_back(there.back().area());
      }
      for (auto& one : expected) host.operands.emplace_back(one);
      op.fill(problem, distribution, 11, host);
      fill->fill(distribution, 11, inputs);
      for (size_t i = 0; i < inputs.size(); ++i) {
        std::vector<std::byte> got(expected[i].size());
        device.memory().download(got, inputs[i].data);
        EXPECT_TRUE(got == expected[i]) << key << ", input " << i;
      }
    }
  }
}

/// Checks that a device finds in outputs what the host finds.
inline void check_device_comparison(Device& device) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const char* key : {"gemm_a16w16 m=301 n=203 k=40 dtype=fp32", "gemm_a16w16 m=301 n=203 k=40 dtype=bf16",
                          "gemm_a16w16 m=301 n=203 k=40 dtype=fp16", "gemm_a16w16 m=333 n=4099 k=8 dtype=bf16"}) {
    SCOPED_TRACE(key);
    const ComputedReference both(device, key);
    const DType dtype = both.specs.back().dtype;
    const int64_t columns = both.specs.back().elements() / op_of(both.problem).output_rows(both.problem);
    const Tolerance tolerance = op_of(both.problem).tolerance(both.problem);
    const auto comparison = DeviceComparison::open(device, dtype);
    ASSERT_NE(comparison, nullptr);
    const size_t count = both.computed.values.size();
    std::vector<float> right(count);
    for (size_t i = 0; i < count; ++i) right[i] = static_cast<float>(both.computed.values[i]);
    for (const auto& planted : std::vector<std::vector<std::pair<size_t, float>>>{
             {}, {{5, 100}}, {{count - 1, kInfinity}}, {{77, kInfinity}, {count - 1, NAN}, {9000, -50}, {8, 3e4f}}}) {
      std::vector<float> got = right;
      for (const auto& [index, value] : planted) got[index] = value;
      std::vector<std::byte> stored(count * static_cast<size_t>(bits(dtype)) / 8);
      from_float(dtype, got, stored.data());
      const OwnBuffer output(device.memory(), stored.size(), 16);
      device.memory().upload(output.data(), stored);
      const auto want = compare(dtype, stored, both.computed, columns, tolerance);
      for (int again = 0; again < 2; ++again) {
        const auto found = comparison->compare(output.area(), *both.on_device, columns, tolerance);
        EXPECT_EQ(found.num_non_finite, want.num_non_finite);
        EXPECT_EQ(found.errors.mismatch_ratio, want.errors.mismatch_ratio);
        EXPECT_NEAR(found.errors.max_relative, want.errors.max_relative, 1e-12 * want.errors.max_relative);
        EXPECT_NEAR(found.errors.cosine, want.errors.cosine, 1e-12);
        EXPECT_EQ(found.worst.row, want.worst.row);
        EXPECT_EQ(found.worst.column, want.worst.column);
        EXPECT_EQ(found.worst.got, want.worst.got);
        EXPECT_EQ(found.worst.want, want.worst.want);
        ASSERT_EQ(found.non_finite.has_value(), want.non_finite.has_value());
        if (!found.non_finite) continue;
        EXPECT_EQ(found.non_finite->row, want.non_finite->row);
        EXPECT_EQ(found.non_finite->column, want.non_finite->column);
      }
    }
  }
}

}  // namespace attune
