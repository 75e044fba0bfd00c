// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "tensor/convert.h"
#include "testing/opened_solver.h"

namespace attune {
namespace {

using testing::HasSubstr;

constexpr const char* kSmallInt8 = "gemm_a8w8 m=8 n=16 k=32";

/// Tests of both versions of the library.
class OnednnQuantised : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!onednn_.unavailable().empty()) GTEST_SKIP() << onednn_.unavailable();
    const Support support = onednn_.solver().supports(onednn_.problem(kSmallInt8), onednn_.device().info());
    if (!support.yes) GTEST_SKIP() << "this CPU has no product of int8: " << support.reason;
  }
  /// Why the solver does not compute a problem on a host of this architecture; empty: it does.
  std::string refusal_on(const char* gfx, const std::string& problem) {
    DeviceInfo device = onednn_.device().info();
    device.gfx = gfx;
    return onednn_.solver().supports(onednn_.problem(problem), device).reason;
  }
  std::set<std::string> ways(const std::string& problem) {
    std::set<std::string> all;
    for (const Config& config : onednn_.configs(problem)) all.insert(config.text("way"));
    return all;
  }
  /// Whether this processor has VNNI, by which a space has both ways.
  bool has_vnni() {
    const InstructionSets sets = onednn_.device().info().instruction_sets();
    return sets.has(InstructionSet::avx512_vnni) || sets.has(InstructionSet::avx_vnni);
  }
  OpenedSolver onednn_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Versions, OnednnQuantised, testing::Values("onednn.gemm_a8w8", "onednn3.gemm_a8w8"),
                         [](const auto& instance) {
                           return std::string(instance.param).substr(0, std::string(instance.param).find('.'));
                         });

TEST_P(OnednnQuantised, ComputesEveryRemainderTypeScaleAndBiasInEveryConfig) {
  for (const char* shape : {"m=1 n=1 k=1", "m=1 n=7 k=3", "m=3 n=15 k=31", "m=5 n=17 k=65", "m=9 n=257 k=30",
                            "m=17 n=513 k=16", "m=33 n=8 k=100"}) {
    for (const char* rest : {"", "scale=tensor outdtype=fp16", "bias=1 outdtype=fp16", "bias=1 scale=tensor"}) {
      const std::string problem = fmt::format("gemm_a8w8 {} {}", shape, rest);
      for (const Config& config : onednn_.configs(problem)) ASSERT_EQ(onednn_.wrong(problem, config.key()), "");
    }
  }
}

TEST_P(OnednnQuantised, SharesLargeOutputsAmongItsThreads) {
  for (const char* rest : {"bias=1", "outdtype=fp16 scale=tensor"}) {
    const std::string problem = fmt::format("gemm_a8w8 m=19 n=1031 k=64 {}", rest);
    for (const Config& config : onednn_.configs(problem)) ASSERT_EQ(onednn_.wrong(problem, config.key()), "");
  }
}

TEST_P(OnednnQuantised, OffersBothWaysButNeverTheReference) {
  for (const Config& config : onednn_.configs(kSmallInt8))
    EXPECT_THAT(config.text("impl"), testing::Not(testing::StartsWith("ref"))) << config.key();
  if (has_vnni()) {
    EXPECT_THAT(ways(kSmallInt8), testing::Contains("int8"));
  }
  if (onednn_.device().info().instruction_sets().has(InstructionSet::avx512)) {
    EXPECT_THAT(ways(kSmallInt8), testing::Contains("dequantise"));
  }
}

/// oneDNN 3.7 has brgemm without VNNI beside the one with it.
TEST_P(OnednnQuantised, OffersNoImplementationThatSaturates) {
  for (const Config& config : onednn_.configs(kSmallInt8)) {
    if (config.text("way") != "int8") continue;
    EXPECT_THAT(config.text("impl"),
                testing::Not(testing::AnyOf(testing::EndsWith(":avx512_core"), testing::EndsWith(":avx2"))));
  }
  EXPECT_THAT(onednn_.refusal(kSmallInt8, "way=int8;impl=brg_matmul:avx512_core;threads=1"),
              HasSubstr("does not offer the implementation"));
}

TEST_P(OnednnQuantised, RunsOnAllCoresByDefaultAsInt8WhereThereIsVnni) {
  const Config default_config = onednn_.backend().default_config(onednn_.problem(kSmallInt8));
  EXPECT_EQ(default_config.text("way"), has_vnni() ? "int8" : "dequantise");
  EXPECT_EQ(default_config.integer("threads"), onednn_.device().info().num_units);
  EXPECT_EQ(default_config.text("impl"), onednn_.configs(kSmallInt8).front().text("impl"));
}

TEST_P(OnednnQuantised, RefusesByName) {
  const std::string here = onednn_.backend().default_config(onednn_.problem(kSmallInt8)).text("impl");
  EXPECT_THAT(onednn_.refusal(kSmallInt8, "way=fp8;impl=" + here + ";threads=1"), HasSubstr("'fp8'"));
  for (const std::string& way : ways(kSmallInt8)) {
    EXPECT_THAT(onednn_.refusal(kSmallInt8, "way=" + way + ";impl=none;threads=1"), HasSubstr("'none'"));
    EXPECT_THAT(onednn_.refusal(kSmallInt8, "way=" + way + ";impl=ref_int8:any;threads=1"),
                HasSubstr("'ref_int8:any'"));
  }
  EXPECT_THAT(onednn_.refusal(kSmallInt8, "way=int8;impl=" + here + ";threads=100003"), HasSubstr("100003"));
}

TEST_P(OnednnQuantised, NeedsVnniForInt8AndAvx512ForBf16) {
  EXPECT_THAT(refusal_on("x86-64-v3", kSmallInt8),
              testing::AllOf(HasSubstr("way=int8 needs VNNI"), HasSubstr("way=dequantise needs AVX-512")));
  EXPECT_EQ(refusal_on("x86-64-v3+vnni", kSmallInt8), "");
  EXPECT_EQ(refusal_on("x86-64-v4", kSmallInt8), "");
  EXPECT_EQ(refusal_on("x86-64-v4+vnni", kSmallInt8), "");
  EXPECT_THAT(refusal_on("x86-64-v4+vnni", "gemm_a16w16 m=8 n=16 k=32 dtype=bf16"), HasSubstr("gemm_a8w8 only"));
}

TEST_P(OnednnQuantised, SumsAsManyProductsAsAnInt32HoldsAndLongerOnesInFp32) {
  const std::string longest = "gemm_a8w8 m=2 n=5 k=131071", longer = "gemm_a8w8 m=2 n=5 k=131072";
  for (const Config& config : onednn_.configs(longest)) EXPECT_EQ(onednn_.wrong(longest, config.key()), "");
  EXPECT_THAT(refusal_on("x86-64-v3+vnni", longer), HasSubstr("at most 131071 products, k is 131072"));
  if (!ways(kSmallInt8).contains("dequantise")) return;
  EXPECT_EQ(ways(longer), std::set<std::string>{"dequantise"});
  EXPECT_EQ(onednn_.backend().default_config(onednn_.problem(longer)).text("way"), "dequantise");
  for (const Config& config : onednn_.configs(longer)) EXPECT_EQ(onednn_.wrong(longer, config.key()), "");
  const std::string here = onednn_.backend().default_config(onednn_.problem(kSmallInt8)).text("impl");
  if (has_vnni()) {
    EXPECT_THAT(onednn_.refusal(longer, "way=int8;impl=" + here + ";threads=1"), HasSubstr("at most 131071 products"));
  }
}

/// The elements of an operand.
template <typename T>
std::span<T> elements(std::span<std::byte> bytes) {
  return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

TEST_P(OnednnQuantised, SumsOfTheLargestElementsNeitherSaturateNorWrap) {
  const std::string problem = "gemm_a8w8 m=3 n=20 k=131071 outdtype=bf16";
  const auto fill = [](const HostTensors& in) {
    std::ranges::fill(elements<int8_t>(in.operands[0]), int8_t{-128});
    std::ranges::fill(elements<int8_t>(in.operands[1]), int8_t{-128});
    std::ranges::fill(elements<float>(in.operands[2]), 1.0f);
    std::ranges::fill(elements<float>(in.operands[3]), 1.0f);
  };
  for (const Config& config : onednn_.configs(problem)) {
    for (const float one : onednn_.computed(problem, config.key(), fill))
      ASSERT_EQ(one, 2147483648.0f) << config.key();  // 131,071 · 2^14, rounded to bf16.
  }
}

TEST_P(OnednnQuantised, FiniteSumsBeyondFp16AreInfiniteAndScalesThatAreNotStayInTheirRow) {
  const std::string problem = "gemm_a8w8 m=2 n=11 k=64 outdtype=fp16 bias=1";
  const auto fill = [](const HostTensors& in) {
    std::ranges::fill(elements<int8_t>(in.operands[0]), int8_t{100});
    std::ranges::fill(elements<int8_t>(in.operands[1]), int8_t{100});
    std::ranges::fill(elements<float>(in.operands[2]), 1.0f);
    std::ranges::fill(elements<float>(in.operands[3]), 1.0f);
    std::ranges::fill(elements<uint16_t>(in.operands[4]), uint16_t{0});
    elements<float>(in.operands[2])[1] = std::numeric_limits<float>::quiet_NaN();
  };
  for (const Config& config : onednn_.configs(problem)) {
    const auto got = onednn_.computed(problem, config.key(), fill);
    EXPECT_TRUE(std::all_of(got.begin(), got.begin() + 11, [](float one) { return one > 0 && std::isinf(one); }));
    EXPECT_TRUE(std::all_of(got.begin() + 11, got.end(), [](float one) { return std::isnan(one); }));
  }
}

TEST_P(OnednnQuantised, StatesVersionsApartFromThoseOfTheOtherProducts) {
  const Versions own = onednn_.backend().versions();
  const std::string id = GetParam(), other = id.substr(0, id.find('.')) + ".gemm";
  EXPECT_THAT(own.at(id), testing::StartsWith("1+"));
  EXPECT_FALSE(own.contains(other));
  OpenedSolver of_floats(other);
  EXPECT_FALSE(of_floats.backend().versions().contains(id));
}

/// Products of narrow floats, by both versions of the library.
class OnednnDequantised : public testing::TestWithParam<const char*> {
 protected:
  OpenedSolver opened(const std::string& op) { return OpenedSolver(std::string(GetParam()) + "." + op); }
  static bool has_bf16() {
    OpenedSolver any("portable.gemm_a8w8");
    return any.device().info().instruction_sets().has(InstructionSet::avx512);
  }
  void SetUp() override {
    const OpenedSolver any = opened("gemm_a8w8");
    if (!any.unavailable().empty()) GTEST_SKIP() << any.unavailable();
    if (!has_bf16()) GTEST_SKIP() << "this CPU has no AVX-512";
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, OnednnDequantised, testing::Values("onednn", "onednn3"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST_P(OnednnDequantised, ComputesEveryRemainderAndType) {
  const std::pair<const char*, const char*> products[] = {
      {"gemm_a8w8", "q_dtype_w=e4m3fn bias=1"},
      {"gemm_a8w8", "q_dtype_w=e4m3fnuz scale=tensor outdtype=fp16"},
      {"gemm_a8w8_blockscale", "q_dtype_w=e4m3fn"},
      {"gemm_a8w8_blockscale", "q_dtype_w=e4m3fnuz outdtype=fp16"},
      {"gemm_a4w4_blockscale", ""},
      {"gemm_a4w4_blockscale", "outdtype=fp16"},
      {"gemm_a4w4_blockscale", "bpreshuffle=1"}};
  for (const auto& [op, rest] : products) {
    OpenedSolver onednn = opened(op);
    for (const char* size : {"m=1 n=1 k=1", "m=3 n=15 k=31", "m=5 n=17 k=33", "m=9 n=257 k=127", "m=17 n=130 k=129",
                             "m=33 n=8 k=300", "m=2 n=1031 k=64"}) {
      const std::string problem = fmt::format("{} {} {}", op, size, rest);
      ASSERT_FALSE(onednn.configs(problem).empty()) << problem;
      for (const Config& config : onednn.configs(problem)) {
        EXPECT_EQ(config.text("way"), "dequantise");
        ASSERT_EQ(onednn.wrong(problem, config.key()), "");
      }
    }
  }
}

TEST_P(OnednnDequantised, EveryCodeIsTheNumberThatItMeans) {
  // a is the codes on a diagonal, b ones: element (i, 0) is the number of code i.
  for (const char* type : {"e4m3fn", "e4m3fnuz"}) {
    OpenedSolver onednn = opened("gemm_a8w8");
    const std::string problem = fmt::format("gemm_a8w8 m=256 n=16 k=256 q_dtype_w={} outdtype=fp16", type);
    const std::byte one = std::string_view(type) == "e4m3fn" ? std::byte{0x38} : std::byte{0x40};
    const auto got = onednn.computed(problem, onednn.backend().default_config(onednn.problem(problem)).key(),
                                     [&](const HostTensors& in) {
                                       std::ranges::fill(in.operands[0], std::byte{0});
                                       for (size_t i = 0; i < 256; ++i)
                                         in.operands[0][i * 256 + i] = static_cast<std::byte>(i);
                                       std::ranges::fill(in.operands[1], one);
                                       std::ranges::fill(elements<float>(in.operands[2]), 1.0f);
                                       std::ranges::fill(elements<float>(in.operands[3]), 1.0f);
                                     });
    for (size_t i = 0; i < 256; ++i) {
      float want = 0;
      const auto code = static_cast<std::byte>(i);
      to_float(*parse_dtype(type), &code, std::span(&want, 1));
      EXPECT_TRUE(got[i * 16] == want || (std::isnan(want) && std::isnan(got[i * 16]))) << type << " " << i;
    }
  }
}

TEST_P(OnednnDequantised, ScalesThatCancelNeitherOverflowNorVanish) {
  OpenedSolver onednn = opened("gemm_a4w4_blockscale");
  const std::string problem = "gemm_a4w4_blockscale m=2 n=16 k=64";
  for (const auto& [of_a, of_b] : {std::pair(0, 254), std::pair(254, 0)}) {
    const auto got = onednn.computed(problem, onednn.backend().default_config(onednn.problem(problem)).key(),
                                     [&, a = of_a, b = of_b](const HostTensors& in) {
                                       std::ranges::fill(in.operands[0], std::byte{0x22});  // 1
                                       std::ranges::fill(in.operands[1], std::byte{0x22});
                                       std::ranges::fill(in.operands[2], static_cast<std::byte>(a));
                                       std::ranges::fill(in.operands[3], static_cast<std::byte>(b));
                                       in.operands[2][3] = std::byte{255};  // The second block of the second row.
                                     });
    for (size_t i = 0; i < 16; ++i) EXPECT_EQ(got[i], 64.0f);
    for (size_t i = 16; i < 32; ++i) EXPECT_TRUE(std::isnan(got[i]));
  }
}

}  // namespace
}  // namespace attune
