// SPDX-License-Identifier: MIT
#include "dispatch/plans/operand_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "attune/dispatcher.h"
#include "attune/error.h"
#include "ops/op.h"

namespace attune {
namespace {

using testing::HasSubstr;

enum class Weighing : uint8_t { plain, packed };

/// Returns the error for operands at these offsets of one buffer; empty: none.
std::string reason(std::string_view text, const std::vector<size_t>& at, Weighing weights = Weighing::plain) {
  alignas(16) static std::array<std::byte, 8192> memory;
  const Problem problem = op_of(Problem::parse(text)).normalise(Problem::parse(text), {});
  const auto tensors = op_of(problem).tensors(problem);
  const OperandList list(tensors);
  std::vector<void*> operands;
  for (const size_t offset : at) operands.push_back(memory.data() + offset);
  std::vector<void*> all = operands;
  if (weights == Weighing::packed && operands.size() + list.num_packed() == list.size()) {
    for (size_t i = 0; i < list.size(); ++i) {
      if (list.is_packed(i)) all.insert(all.begin() + static_cast<std::ptrdiff_t>(i), memory.data() + 4096);
    }
  }
  if (list.accepts(all)) return {};
  try {
    refuse_operands(problem.op(), tensors, operands, weights == Weighing::packed);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    return error.what();
  }
}

// Operand sizes: a 128 bytes, b 256, bias 32, c 64.
constexpr const char* kPlain = "gemm_a16w16 m=4 n=8 k=16 dtype=bf16";
constexpr const char* kBias = "gemm_a16w16 m=4 n=8 k=16 dtype=fp32 outdtype=bf16 bias=1";
constexpr const char* kPacked = "gemm_a16w16 m=4 n=8 k=16 dtype=bf16 bpreshuffle=1";
constexpr const char* kPackedBias = "gemm_a16w16 m=4 n=8 k=16 dtype=fp32 outdtype=bf16 bias=1 bpreshuffle=1";

TEST(OperandList, AnOutputOfItsOwnIsAccepted) {
  EXPECT_EQ(reason(kPlain, {0, 128, 384}), "");
  EXPECT_EQ(reason(kPlain, {0, 192, 128}), "") << "between them";
  EXPECT_EQ(reason(kPlain, {0, 0, 256}), "") << "inputs may share memory";
}

TEST(OperandList, EachInputThatTheOutputOverlapsIsNamed) {
  EXPECT_THAT(reason(kPlain, {0, 1024, 0}), HasSubstr("output c overlaps the input a"));
  EXPECT_THAT(reason(kPlain, {1024, 0, 0}), HasSubstr("output c overlaps the input b"));
  EXPECT_THAT(reason(kBias, {1024, 2048, 0, 0}), HasSubstr("the input bias"));
}

TEST(OperandList, OneByteIsEnough) {
  EXPECT_EQ(reason(kPlain, {64, 1024, 0}), "");
  EXPECT_NE(reason(kPlain, {48, 1024, 0}), "") << "the output's last bytes";
  EXPECT_NE(reason(kPlain, {0, 1024, 112}), "") << "the input's last bytes";
  EXPECT_EQ(reason(kPlain, {0, 1024, 128}), "");
}

TEST(OperandList, WhatIsPackedAheadIsNotAmongTheOperands) {
  EXPECT_EQ(reason(kPacked, {0, 128}, Weighing::packed), "");
  EXPECT_NE(reason(kPacked, {0, 64}, Weighing::packed), "");
  EXPECT_THAT(reason(kPacked, {0, 4096}, Weighing::packed), HasSubstr("overlaps the packed weights"));
  EXPECT_THAT(reason(kPackedBias, {1024, 0, 16}, Weighing::packed), HasSubstr("bias"));
  EXPECT_THAT(reason(kPackedBias, {0, 1024}, Weighing::packed),
              HasSubstr("3 operands besides its packed ones (a, bias, c), got 2"));
}

TEST(OperandList, AWrongNumberANullAndAMisalignedOneAreRefused) {
  EXPECT_THAT(reason(kPlain, {0, 128}), HasSubstr("3 operands (a, b, c), got 2"));
  EXPECT_THAT(reason(kPlain, {0, 128, 384, 512}), HasSubstr("got 4"));
  EXPECT_THAT(reason(kPlain, {0, 136, 512}), HasSubstr("aligned to 16 bytes, this one is not: 1, b"));
  const Problem problem = op_of(Problem::parse(kPlain)).normalise(Problem::parse(kPlain), {});
  const auto tensors = op_of(problem).tensors(problem);
  alignas(16) std::array<std::byte, 512> memory{};
  const std::array<void*, 3> operands = {memory.data(), nullptr, memory.data() + 384};
  EXPECT_FALSE(OperandList(tensors).accepts(operands));
  EXPECT_THROW(refuse_operands("gemm_a16w16", tensors, operands, false), Error);
}

TEST(OperandList, ADispatcherRefusesAnOverlapInEveryCall) {
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
