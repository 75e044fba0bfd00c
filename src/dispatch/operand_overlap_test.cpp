// SPDX-License-Identifier: MIT
#include "dispatch/operand_overlap.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "attune/dispatcher.h"
#include "attune/error.h"

namespace attune {
namespace {

/// Returns the error for operands at these offsets of one buffer; empty: none.
template <size_t N>
std::string reason(const GemmKey& key, const std::array<size_t, N>& at, OperandRoles roles = OperandRoles::all) {
  alignas(16) static std::array<std::byte, 4096> memory;
  std::array<void*, N> operands;
  for (size_t i = 0; i < N; ++i) operands[i] = memory.data() + at[i];
  try {
    check_output(key, operands, roles);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    return error.what();
  }
  return {};
}

/// Operand sizes: a 128 bytes, b 256, bias 32, c 64.
constexpr GemmKey kKey{.m = 4, .n = 8, .k = 16, .in = DType::bf16, .out = DType::bf16};
constexpr GemmKey kBias{.m = 4, .n = 8, .k = 16, .in = DType::fp32, .out = DType::bf16, .flags = GemmKey::bias};

using Three = std::array<size_t, 3>;

TEST(OperandOverlap, an_output_of_its_own_is_none) {
  EXPECT_EQ(reason(kKey, Three{0, 128, 384}), "");
  EXPECT_EQ(reason(kKey, Three{0, 192, 128}), "") << "between them";
  EXPECT_EQ(reason(kKey, Three{0, 0, 256}), "") << "inputs may share memory";
}

TEST(OperandOverlap, each_input_is_named) {
  EXPECT_NE(reason(kKey, Three{0, 1024, 0}).find("output c overlaps the input a"), std::string::npos);
  EXPECT_NE(reason(kKey, Three{1024, 0, 0}).find("output c overlaps the input b"), std::string::npos);
  EXPECT_NE(reason(kBias, std::array<size_t, 4>{1024, 2048, 0, 0}).find("the input bias"), std::string::npos);
}

TEST(OperandOverlap, one_byte_is_enough) {
  EXPECT_EQ(reason(kKey, Three{64, 1024, 0}), "");
  EXPECT_NE(reason(kKey, Three{63, 1024, 0}), "") << "the output's last byte";
  EXPECT_NE(reason(kKey, Three{0, 1024, 127}), "") << "the input's last byte";
  EXPECT_EQ(reason(kKey, Three{0, 1024, 128}), "");
}

TEST(OperandOverlap, packed_weights_are_not_among_the_operands) {
  EXPECT_EQ(reason(kKey, std::array<size_t, 2>{0, 128}, OperandRoles::without_weights), "");
  EXPECT_NE(reason(kKey, std::array<size_t, 2>{0, 64}, OperandRoles::without_weights), "");
  EXPECT_NE(reason(kBias, Three{1024, 0, 16}, OperandRoles::without_weights).find("bias"), std::string::npos);
}

TEST(OperandOverlap, a_dispatcher_refuses_it_in_every_call) {
  Dispatcher dispatcher({.poll_interval = std::chrono::milliseconds(0)});
  alignas(16) std::array<float, 1024> memory{};
  float* const start = memory.data();
  const GemmKey key{.m = 4, .n = 8, .k = 16, .in = DType::fp32, .out = DType::fp32};
  const std::array<void*, 3> over_b = {start, start + 256, start + 256}, fine = {start, start + 256, start + 512};
  EXPECT_THROW(dispatcher.run(key, over_b), Error);
  const char *problem = "gemm_a16w16 m=4 n=8 k=16 dtype=fp32", *candidate = "portable.gemm@1:block=4x4";
  EXPECT_THROW(dispatcher.run_candidate(problem, candidate, over_b), Error);
  const Weights weights = dispatcher.pack_weights(key, start);
  EXPECT_THROW(dispatcher.run(key, weights, std::array<void*, 2>{start, start}), Error);
  dispatcher.run(key, fine);
  dispatcher.run_candidate(problem, candidate, fine);
}

}  // namespace
}  // namespace attune
