// SPDX-License-Identifier: MIT
// Quantised products from a table, by the C++ and the C interface: the bytes that a caller has in memory give the
// numbers that the op means.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "attune/attune_key.h"
#include "attune/attune_quantise.h"
#include "attune/dispatcher.h"
#include "device/devices.h"
#include "ops/op.h"
#include "solver/registry.h"
#include "tensor/convert.h"
#include "testing/test_files.h"

namespace attune {
namespace {

struct ServedCase {
  const char* op;
  const char* columns;  ///< Of the table's key, and its cells.
  const char* cells;
  const char* attributes;
};

class QuantisedCalls : public testing::TestWithParam<ServedCase> {
 protected:
  void SetUp() override {
    const DeviceInfo device = find_device({.ids = "cpu:0"});
    for (const SolverEntry& entry : registry().entries()) {
      if (entry.id == candidate_of("@").substr(0, candidate_of("@").find('@')))
        version_ = std::string(entry.solver->version());
    }
    table_ = folder_.put("t.csv", fmt::format("gfx,cu_num,{},us,kernelName\n{},{},{},5,{}\n", GetParam().columns,
                                              device.gfx, device.num_units, GetParam().cells, candidate_of("@")));
    const std::string text = std::string(GetParam().op) + " " + GetParam().attributes;
    problem_ = op_of(Problem::parse(text)).normalise(Problem::parse(text), device);
    const Op& op = op_of(problem_);
    HostTensors tensors;
    for (const TensorSpec& spec : op.tensors(problem_)) {
      memory_.emplace_back((spec.bytes() + 15) / 16 * 2);
      tensors.operands.push_back(std::as_writable_bytes(std::span(memory_.back())).first(spec.bytes()));
      places_.push_back(memory_.back().data());
    }
    op.fill(problem_, Distribution::normal, 3, tensors);
    tensors_ = tensors;
  }
  std::string candidate_of(const char* at) const {
    return fmt::format("portable.{}{}{}:block=2x4", GetParam().op, at, version_);
  }
  void expect_result() const {
    const Op& op = op_of(problem_);
    const Reference want = whole_reference(op, problem_, Path::naive, tensors_);
    std::vector<float> got(want.values.size());
    to_float(op.tensors(problem_).back().dtype, tensors_.operands.back().data(), got);
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_LE(std::abs(got[i] - want.values[i]), 0.01 * (std::abs(want.values[i]) + want.scales[i])) << i;
  }

  TestFolder folder_;
  std::string version_, table_;
  Problem problem_;
  std::vector<std::vector<uint64_t>> memory_;
  std::vector<void*> places_;
  HostTensors tensors_;
};

TEST_P(QuantisedCalls, AreServedByTheRowInCpp) {
  DispatcherOptions options;
  options.device = "cpu:0";
  options.tables[GetParam().op] = {table_};
  options.poll_interval = {};
  Dispatcher dispatcher(options);
  const Hit hit = dispatcher.run(dispatcher.key(problem_.key()), places_);
  EXPECT_EQ(hit.match, Match::exact);
  EXPECT_THAT(dispatcher.explain(dispatcher.key(problem_.key())), testing::HasSubstr(candidate_of("@")));
  expect_result();
}

TEST_P(QuantisedCalls, AreServedByTheRowInC) {
  const attune_table table{GetParam().op, table_.c_str()};
  attune_options options = ATTUNE_OPTIONS_INIT;
  options.device = "cpu:0";
  options.tables = &table;
  options.num_tables = 1;
  options.poll_interval_ms = -1;
  attune_dispatcher* dispatcher = nullptr;
  ASSERT_EQ(attune_open(&options, &dispatcher), ATTUNE_OK);
  attune_key key = ATTUNE_KEY_INIT;
  ASSERT_EQ(attune_parse_key(problem_.key().c_str(), &key), ATTUNE_OK);
  attune_hit hit = ATTUNE_HIT_INIT;
  EXPECT_EQ(attune_require_key(dispatcher, &key, nullptr, &hit), ATTUNE_OK);
  EXPECT_EQ(hit.match, uint32_t{ATTUNE_EXACT});
  ASSERT_EQ(attune_run_key(dispatcher, &key, nullptr, places_.data(), places_.size(), nullptr), ATTUNE_OK);
  expect_result();
  // A typed key means the same product.
  attune_gemm_key typed = ATTUNE_GEMM_KEY_INIT;
  ASSERT_EQ(attune_problem_key(problem_.key().c_str(), &typed), ATTUNE_OK);
  std::ranges::fill(memory_.back(), 0);
  ASSERT_EQ(attune_run(dispatcher, &typed, places_.data(), places_.size(), nullptr), ATTUNE_OK);
  expect_result();
  EXPECT_EQ(attune_run_key(dispatcher, &key, nullptr, places_.data(), places_.size() - 1, nullptr),
            ATTUNE_INVALID_INPUT);
  EXPECT_EQ(attune_close(dispatcher), ATTUNE_OK);
}

TEST(QuantiseInC, GivesTheBytesOfTheCppFunctionsAndRefusesNullPointers) {
  const float values[] = {6, -1, 0, 0.5f, 3, 1};
  uint8_t elements[4] = {}, scales[2] = {};
  ASSERT_EQ(attune_quantise_mxfp4(2, 3, ATTUNE_EXPONENT_FLOOR, values, elements, scales), ATTUNE_OK);
  EXPECT_THAT(scales, testing::ElementsAre(127, 126));
  EXPECT_THAT(elements, testing::ElementsAre(0xa7, 0x00, 0x72, 0x04));
  float again[6] = {};
  ASSERT_EQ(attune_dequantise(ATTUNE_E2M1, ATTUNE_E8M0, 2, 3, 1, 32, elements, scales, again), ATTUNE_OK);
  EXPECT_THAT(again, testing::ElementsAreArray(values));
  int8_t whole[6] = {};
  float of_rows[2] = {}, of_all = 0, of_blocks[4] = {};
  ASSERT_EQ(attune_quantise_rows(ATTUNE_INT8, 2, 3, values, whole, of_rows), ATTUNE_OK);
  EXPECT_EQ(of_rows[1], 3.0f / 127);
  ASSERT_EQ(attune_quantise_tensor(ATTUNE_INT8, 2, 3, values, whole, &of_all), ATTUNE_OK);
  EXPECT_EQ(whole[0], 127);
  EXPECT_EQ(of_all, 6.0f / 127);
  ASSERT_EQ(attune_quantise_blocks(ATTUNE_INT8, 2, 3, 1, 2, values, whole, of_blocks), ATTUNE_OK);
  EXPECT_EQ(of_blocks[1], 1) << "a block of zeros";
  EXPECT_EQ(attune_quantise_rows(ATTUNE_INT8, 2, 3, nullptr, whole, of_rows), ATTUNE_INVALID_INPUT);
  EXPECT_EQ(attune_quantise_rows(ATTUNE_BF16, 2, 3, values, whole, of_rows), ATTUNE_INVALID_INPUT);
  EXPECT_EQ(attune_quantise_blocks(ATTUNE_INT8, 2, 3, 0, 2, values, whole, of_blocks), ATTUNE_INVALID_INPUT);
  EXPECT_EQ(attune_quantise_mxfp4(2, 3, 2, values, elements, scales), ATTUNE_INVALID_INPUT);
}

INSTANTIATE_TEST_SUITE_P(
    Families, QuantisedCalls,
    testing::Values(ServedCase{"gemm_a8w8", "M,N,K,q_dtype_w", "5,33,70,torch.int8", "m=5 n=33 k=70"},
                    ServedCase{"gemm_a8w8_blockscale", "M,N,K", "5,130,200", "m=5 n=130 k=200"},
                    ServedCase{"gemm_a8w8_blockscale", "M,N,K,q_dtype_w,outdtype",
                               "5,130,200,torch.float8_e4m3fnuz,torch.float16",
                               "m=5 n=130 k=200 q_dtype_w=e4m3fnuz outdtype=fp16"},
                    ServedCase{"gemm_a4w4_blockscale", "M,N,K", "5,33,99", "m=5 n=33 k=99"}),
    [](const auto& instance) { return std::string(instance.param.op) + "_" + std::to_string(instance.index); });

}  // namespace
}  // namespace attune
