// SPDX-License-Identifier: MIT
// The activations of generated kernels. A product of one term by 1 is exact, so a kernel computes act(x) of any x.
#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <set>

#include "ops/epilogue.h"
#include "testing/opened_solver.h"

namespace attune {
namespace {

using testing::IsEmpty;

double activation_of(std::string_view act, double x) {
  if (act == "relu") return x < 0 ? 0 : x;
  if (act == "gelu") return x / 2 * std::erfc(-x / std::numbers::sqrt2);
  if (act == "gelu_tanh") return x / (1 + std::exp(-std::sqrt(8 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
  return x / (1 + std::exp(-x));
}

/// Numbers of every exponent and both signs, 16 in each binade.
std::vector<float> every_exponent() {
  std::vector<float> values;
  for (uint32_t sign = 0; sign < 2; ++sign) {
    for (uint32_t exponent = 0; exponent < 255; ++exponent) {
      for (uint32_t i = 0; i < 16; ++i)
        values.push_back(std::bit_cast<float>(sign << 31 | exponent << 23 | (i * 0x80000 + i * 4099)));
    }
  }
  return values;
}

class Activations : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    if (!solver_.unavailable().empty()) GTEST_SKIP() << solver_.unavailable();
    if (!solver_.solver().supports(solver_.problem("gemm_a16w16 m=1 n=1 k=1 dtype=fp32"), solver_.device().info()).yes)
      GTEST_SKIP() << "this processor has no AVX2";
  }

  /// The first config of a kernel, and with the number of rows per tile, if there is one.
  std::string config_of(const std::string& problem, const std::string& kernel) {
    for (const Config& config : solver_.configs(problem)) {
      if (config.text("kernel") == kernel) return config.key();
    }
    ADD_FAILURE() << "no config of " << kernel << " for " << problem;
    return {};
  }

  OpenedSolver solver_{"jit_cpu.gemm"};
};
INSTANTIATE_TEST_SUITE_P(All, Activations, testing::Values("relu", "gelu", "gelu_tanh", "silu"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST_P(Activations, ErrByLessThanTwoUnitsAtEveryExponent) {
  const std::vector<float> xs = every_exponent();
  for (const auto& [kernel, m] : {std::pair("dot", 1), {"tile_m", 16}, {"tile_n", 24}}) {
    const auto text = fmt::format("gemm_a16w16 m={} n={} k=1 dtype=fp32 act={}", m, xs.size(), GetParam());
    const auto got = solver_.computed(text, config_of(text, kernel), [&](const HostTensors& operands) {
      const std::vector<float> ones(static_cast<size_t>(m), 1.0f);
      from_float(DType::fp32, ones, operands.operands[0].data());
      from_float(DType::fp32, xs, operands.operands[1].data());
    });
    double worst = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      const double x = xs[i % xs.size()], want = activation_of(GetParam(), x);
      // Kernels may flush what is below the normal numbers, x too.
      const double bound = std::abs(x) * std::ldexp(2, -24) + std::numeric_limits<float>::min();
      ASSERT_LE(std::abs(got[i] - want), bound) << kernel << " of " << x << ": " << got[i] << ", not " << want;
      if (std::abs(x) > 1e-30) worst = std::max(worst, std::abs(got[i] - want) / std::abs(x) / std::ldexp(1, -24));
    }
    RecordProperty(std::string(kernel) + "_worst_error", fmt::format("{:.2f}", worst));
    EXPECT_TRUE(worst > 0.1 || GetParam() == "relu") << "nothing was rounded";
  }
}

TEST_P(Activations, KeepWhatIsNoNumber) {
  const std::string text = fmt::format("gemm_a16w16 m=1 n=4 k=1 dtype=fp32 act={}", GetParam());
  const float infinity = std::numeric_limits<float>::infinity();
  const auto got = solver_.computed(text, config_of(text, "dot"), [&](const HostTensors& operands) {
    from_float(DType::fp32, std::vector<float>{1}, operands.operands[0].data());
    from_float(DType::fp32, std::vector<float>{infinity, -infinity, std::nanf(""), 0}, operands.operands[1].data());
  });
  EXPECT_EQ(got[0], infinity);
  EXPECT_EQ(got[1], 0);
  EXPECT_TRUE(std::isnan(got[2]));
  EXPECT_EQ(got[3], 0);
}

/// Parameters that choose other code of a kernel, or another way to its end.
std::string kind_of(const Config& config) {
  std::string kind;
  for (const auto& [name, value] : config.values()) {
    for (const std::string_view own : {"kernel", "b_layout", "engine", "split_k", "k_block", "pairs"}) {
      if (name == own) kind += to_text(value) + ' ';
    }
  }
  return kind;
}

TEST_P(Activations, FollowTheBiasInEveryKernelAndType) {
  std::vector<std::string> problems;
  const auto add = [&](const char* shape, const char* types) {
    problems.push_back(fmt::format("gemm_a16w16 {} dtype={} bias=1 act={}", shape, types, GetParam()));
  };
  for (const char* types : {"fp32", "bf16", "fp16", "bf16 outdtype=fp32"}) add("m=3 n=37 k=70", types);
  for (const char* types : {"fp32", "bf16"}) add("m=19 n=37 k=300 bpreshuffle=1", types);
  add("m=24 n=37 k=1030 trans_a=1", "fp32");
  add("m=17 n=37 k=65", "bf16");
  for (const std::string& text : problems) {
    std::set<std::string> kinds;
    const auto configs = solver_.configs(text);
    ASSERT_FALSE(configs.empty()) << text;
    EXPECT_THAT(solver_.wrong(text, solver_.backend().default_config(solver_.problem(text)).key()), IsEmpty());
    for (const Config& config : configs) {
      if (!kinds.insert(kind_of(config)).second) continue;
      EXPECT_THAT(solver_.wrong(text, config.key()), IsEmpty());
    }
  }
}

TEST(ActivationsOfOthers, AreRefusedByNameWhereAKernelLacksThem) {
  OpenedSolver solver("jit_cpu.gemm");
  if (!solver.unavailable().empty()) GTEST_SKIP() << solver.unavailable();
  for (const auto& [attribute, reason] : {std::pair("alpha=any", "does not compute a factor of the product, alpha=any"),
                                          {"beta=1", "does not compute a residual, beta=1"},
                                          {"out_scale=1", "does not compute a scale of the result, out_scale=1"}}) {
    const auto problem = solver.problem(fmt::format("gemm_a16w16 m=8 n=8 k=8 dtype=fp32 act=gelu {}", attribute));
    const Support support = solver.solver().supports(problem, solver.device().info());
    EXPECT_FALSE(support.yes) << attribute;
    EXPECT_EQ(support.reason, reason);
  }
}

}  // namespace
}  // namespace attune
