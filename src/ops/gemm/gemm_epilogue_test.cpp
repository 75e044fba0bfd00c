// SPDX-License-Identifier: MIT
#include "ops/gemm/gemm_epilogue.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "attune/error.h"
#include "ops/gemm/gemm_op.h"
#include "tensor/convert.h"

namespace attune {
namespace {

Problem epilogue_problem(const std::string& attributes) {
  const Problem problem = Problem::parse("gemm_a16w16 " + attributes);
  return op_of(problem).normalise(problem, {});
}

std::vector<std::string> epilogue_roles(const std::string& attributes) {
  std::vector<std::string> roles;
  for (const TensorSpec& spec : GemmOp().tensors(epilogue_problem(attributes))) roles.push_back(spec.role);
  return roles;
}

/// The operands of a problem, filled or set by role.
struct EpilogueOperands {
  explicit EpilogueOperands(const Problem& of, Distribution distribution = Distribution::normal)
      : problem(of), specs(GemmOp().tensors(of)) {
    for (const TensorSpec& spec : specs) bytes.emplace_back(spec.bytes());
    for (auto& one : bytes) host.operands.emplace_back(one);
    GemmOp().fill(problem, distribution, 7, host);
  }
  size_t index(std::string_view role) const {
    for (size_t i = 0; i < specs.size(); ++i) {
      if (specs[i].role == role) return i;
    }
    ADD_FAILURE() << "no operand " << role;
    return 0;
  }
  void set(std::string_view role, std::vector<float> values) {
    from_float(specs[index(role)].dtype, values, host.operands[index(role)].data());
  }
  std::vector<float> values(std::string_view role) const {
    std::vector<float> found(static_cast<size_t>(specs[index(role)].elements()));
    to_float(specs[index(role)].dtype, host.operands[index(role)].data(), found);
    return found;
  }
  Reference reference(Path path) const { return whole_reference(GemmOp(), problem, path, host); }

  Problem problem;
  std::vector<TensorSpec> specs;
  std::vector<std::vector<std::byte>> bytes;
  HostTensors host;
};

}  // namespace

TEST(GemmEpilogue, IsPartOfTheKeyOnlyOffItsDefaultsAndInOneSpelling) {
  const std::string sizes = "m=1 n=2 k=3", plain = "gemm_a16w16 m=1 n=2 k=3 dtype=bf16 outdtype=bf16 bias=0";
  EXPECT_EQ(epilogue_problem(sizes + " act=none alpha=1 beta=0 out_scale=0").key(), plain);
  EXPECT_EQ(epilogue_problem(sizes + " act=None alpha=1.0 beta=0.0 out_scale=False").key(), plain);
  EXPECT_EQ(epilogue_problem("out_scale=1 beta=Any alpha=0 act=GELU_tanh trans_a=1 " + sizes).key(),
            plain + " trans_a=1 act=gelu_tanh alpha=0 beta=any out_scale=1");
  for (const char* wrong : {" act=swish", " act=2", " alpha=2", " alpha=any1", " beta=-1", " out_scale=2", " act="})
    EXPECT_THROW(epilogue_problem(sizes + wrong), Error) << wrong;
}

TEST(GemmEpilogue, HasTheNumbersOfItsNames) {
  for (size_t act = 0; act < kActivations.size(); ++act) {
    const auto problem = epilogue_problem(fmt::format("m=1 n=2 k=3 act={}", kActivations[act]));
    EXPECT_EQ(static_cast<size_t>(GemmEpilogue::of(problem).act), act);
  }
  const auto epilogue = GemmEpilogue::of(epilogue_problem("m=1 n=2 k=3 alpha=0 beta=any out_scale=1"));
  EXPECT_EQ(epilogue, (GemmEpilogue{Activation::none, Factor::zero, Factor::any, true}));
  EXPECT_FALSE(epilogue.is_none());
  EXPECT_TRUE(GemmEpilogue::of(epilogue_problem("m=1 n=2 k=3 bias=1")).is_none());
  // Keys hold these numbers: they never change.
  EXPECT_THAT(kActivations, testing::ElementsAre("none", "relu", "gelu", "gelu_tanh", "silu"));
  EXPECT_THAT(kFactors, testing::ElementsAre("0", "1", "any"));
}

/// A text may omit an attribute at its default, and so may a table.
TEST(GemmEpilogue, ChoicesHaveADefaultThatIsLeftOut) {
  for (const Op* op : ops()) {
    for (const AttributeSpec& attribute : op->family().key) {
      if (attribute.kind != ColumnKind::choice) continue;
      EXPECT_TRUE(choice_number(attribute.allowed, attribute.default_value).has_value()) << attribute.name;
      EXPECT_EQ(attribute.optional, !attribute.always) << op->name() << ' ' << attribute.name;
    }
  }
}

TEST(GemmEpilogue, AddsItsOperandsBetweenTheBiasAndTheResult) {
  using testing::ElementsAre;
  const std::string sizes = "m=4 n=3 k=2 dtype=bf16 outdtype=fp32";
  EXPECT_THAT(epilogue_roles(sizes + " act=relu"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(epilogue_roles(sizes + " alpha=0 beta=1"), ElementsAre("a", "b", "residual", "c"));
  EXPECT_THAT(epilogue_roles(sizes + " bias=1 alpha=any beta=any out_scale=1"),
              ElementsAre("a", "b", "bias", "residual", "alpha", "beta", "out_scale", "c"));
  EXPECT_THAT(epilogue_roles(sizes + " beta=any"), ElementsAre("a", "b", "residual", "beta", "c"));
  const auto problem = epilogue_problem(sizes + " bias=1 alpha=any beta=any out_scale=1");
  const auto where = GemmOperands::of(GemmShape::of(problem));
  const auto specs = GemmOp().tensors(problem);
  EXPECT_EQ(specs[where.residual].role, "residual");
  EXPECT_EQ(specs[where.residual].dtype, DType::fp32) << "the type of c";
  EXPECT_THAT(specs[where.residual].shape, ElementsAre(4, 3));
  EXPECT_EQ(specs[where.alpha].role, "alpha");
  EXPECT_EQ(specs[where.beta].role, "beta");
  EXPECT_EQ(specs[where.out_scale].role, "out_scale");
  EXPECT_EQ(specs[where.c].role, "c");
  EXPECT_EQ(specs[where.alpha].bytes(), 4u);
}

TEST(GemmEpilogue, CountsWhatItReads) {
  const std::string sizes = "m=2 n=3 k=5 dtype=bf16 outdtype=fp32";
  const auto bytes = [&](const std::string& more) { return GemmOp().work(epilogue_problem(sizes + more)).bytes; };
  const double plain = 2 * 5 * 2 + 3 * 5 * 2 + 2 * 3 * 4;
  EXPECT_EQ(bytes(" act=silu"), plain);
  EXPECT_EQ(bytes(" beta=any alpha=any"), plain + 2 * 3 * 4 + 4 + 4);
  EXPECT_EQ(bytes(" alpha=0 beta=1"), 2 * 2 * 3 * 4) << "a and b are not read";
  EXPECT_EQ(GemmOp().work(epilogue_problem(sizes + " beta=1")).flops, 60);
  EXPECT_EQ(GemmOp().work(epilogue_problem(sizes + " alpha=0 beta=1")).flops, 12);
}

/// Φ(1) and so on, from tables.
TEST(GemmEpilogue, ActivatesAsPublished) {
  struct PublishedValues {
    const char* act;
    double at_one, at_minus_one;
  };
  for (const auto& [act, at_one, at_minus_one] :
       {PublishedValues{"relu", 1, 0}, PublishedValues{"gelu", 0.8413447460685429, -0.15865525393145707},
        PublishedValues{"gelu_tanh", 0.8411919906082768, -0.15880800939172324},
        PublishedValues{"silu", 0.7310585786300049, -0.2689414213699951}}) {
    EpilogueOperands operands(epilogue_problem(fmt::format("m=1 n=2 k=1 dtype=fp32 act={}", act)));
    operands.set("a", {1});
    operands.set("b", {1, -1});
    for (const Path path : {Path::naive, Path::fast}) {
      EXPECT_NEAR(operands.reference(path).values[0], at_one, 1e-15) << act;
      EXPECT_NEAR(operands.reference(path).values[1], at_minus_one, 1e-15) << act;
    }
  }
}

TEST(GemmEpilogue, FollowsTheProductInThisOrder) {
  EpilogueOperands operands(epilogue_problem("m=1 n=2 k=2 dtype=fp32 bias=1 act=relu alpha=any beta=any out_scale=1"));
  operands.set("a", {1, 2});
  operands.set("b", {3, 4, -3, 4});  // 11 and 5
  operands.set("bias", {-20, 7});
  operands.set("residual", {1, 30});
  operands.set("alpha", {2});
  operands.set("beta", {-0.5f});
  operands.set("out_scale", {10});
  for (const Path path : {Path::naive, Path::fast}) {
    EXPECT_EQ(operands.reference(path).values[0], 10 * (22 - 20 - 0.5)) << "only alpha makes it positive";
    EXPECT_EQ(operands.reference(path).values[1], 10 * (10 + 7 - 15));
  }
  operands.set("residual", {4, 36});
  EXPECT_EQ(operands.reference(Path::naive).values[0], 0);
  EXPECT_EQ(operands.reference(Path::naive).values[1], 0);
}

TEST(GemmEpilogue, WithoutAProductReadsNeitherFactor) {
  EpilogueOperands operands(epilogue_problem("m=2 n=2 k=3 dtype=fp32 alpha=0 beta=1"));
  operands.set("a", std::vector<float>(6, std::nanf("")));
  operands.set("b", std::vector<float>(6, std::nanf("")));
  for (const Path path : {Path::naive, Path::fast}) {
    const Reference found = operands.reference(path);
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(found.values[i], operands.values("residual")[i]);
      EXPECT_TRUE(std::isfinite(found.scales[i]));
    }
  }
}

TEST(GemmEpilogue, BothReferencesAgreeOnEveryOne) {
  for (const std::string_view act : kActivations) {
    for (const std::string_view alpha : kFactors) {
      for (const std::string_view beta : kFactors) {
        for (const char* rest : {"bias=1 out_scale=1 dtype=fp32", "dtype=bf16 outdtype=fp32", "bias=1 dtype=fp16"}) {
          const auto text = fmt::format("m=5 n=7 k=19 act={} alpha={} beta={} {}", act, alpha, beta, rest);
          for (const auto data : {Distribution::normal, Distribution::integers}) {
            const EpilogueOperands operands(epilogue_problem(text), data);
            const auto slow = operands.reference(Path::naive), fast = operands.reference(Path::fast);
            for (size_t i = 0; i < slow.values.size(); ++i) {
              ASSERT_NEAR(slow.values[i], fast.values[i], 1e-12 * (slow.scales[i] + std::abs(slow.values[i])))
                  << text << " element " << i;
              ASSERT_NEAR(slow.scales[i], fast.scales[i], 1e-9 * slow.scales[i]) << text << " element " << i;
            }
          }
        }
      }
    }
  }
}

TEST(GemmEpilogue, SlopesAreBounded) {
  std::vector<float> xs;
  for (int i = 0; i <= 4000; ++i) xs.push_back(static_cast<float>(i - 2000) / 256);
  for (size_t act = 1; act < kActivations.size(); ++act) {
    EpilogueOperands operands(epilogue_problem(fmt::format("m=1 n=4001 k=1 dtype=fp32 act={}", kActivations[act])));
    operands.set("a", {1});
    operands.set("b", xs);
    const Reference found = operands.reference(Path::naive);
    double steepest = 0;
    for (size_t i = 1; i < xs.size(); ++i)
      steepest = std::max(steepest, std::abs(found.values[i] - found.values[i - 1]) * 256);
    EXPECT_LE(steepest, steepest_slope(static_cast<Activation>(act))) << kActivations[act];
    EXPECT_GT(steepest, steepest_slope(static_cast<Activation>(act)) - 0.01) << kActivations[act];
  }
}

/// An error of the sum, and the rounding of a factor, stay within the scale times their share of the product's.
TEST(GemmEpilogue, ScalesFollowTheFactors) {
  const auto scale_of = [](const std::string& more, const std::string& factor) {
    EpilogueOperands operands(epilogue_problem("m=4 n=4 k=256 dtype=fp32 " + more));
    operands.set(factor, {1});
    const double one = operands.reference(Path::fast).scales[0];
    operands.set(factor, {-64});
    return operands.reference(Path::fast).scales[0] / one;
  };
  EXPECT_NEAR(scale_of("alpha=any", "alpha"), 64, 1e-9);
  EXPECT_NEAR(scale_of("out_scale=1 act=gelu", "out_scale"), 64, 1e-9);
  EXPECT_GT(scale_of("beta=any", "beta"), 1);
}

TEST(GemmEpilogue, DataTellAFactorFromOneAndACurveFromALine) {
  for (const int k : {1, 16, 1000, 65536}) {
    const EpilogueOperands operands(
        epilogue_problem(fmt::format("m=16 n=16 k={} dtype=bf16 outdtype=fp32 act=gelu", k)));
    // act=gelu is nearly the identity or zero for sums beyond 4, and a line of slope 1/2 for those near 0.
    size_t num_curved = 0;
    for (const double value : operands.reference(Path::fast).values) num_curved += value > 0.05 && value < 4;
    EXPECT_GT(num_curved, 60u) << k;
  }
  for (const auto data : {Distribution::normal, Distribution::integers}) {
    const EpilogueOperands operands(epilogue_problem("m=2 n=2 k=2 dtype=fp32 alpha=any beta=any out_scale=1"), data);
    for (const char* role : {"alpha", "beta", "out_scale"}) {
      const float value = operands.values(role)[0];
      EXPECT_GE(std::abs(value), 1.25) << role;
      EXPECT_LE(std::abs(value), 3) << role;
    }
  }
}

/// Problems without an epilogue have the data, scales and bounds that their journal entries were made with.
TEST(GemmEpilogue, LeavesOtherProblemsAsTheyWere) {
  const auto problem = epilogue_problem("m=64 n=64 k=64 dtype=fp32 bias=1");
  const EpilogueOperands operands(problem);
  EXPECT_FLOAT_EQ(operands.values("a")[0], 2.0411453f);
  const auto a = operands.values("a"), b = operands.values("b");
  double left = 0, right = 0;
  for (size_t i = 0; i < 64; ++i) {
    left += static_cast<double>(a[i]) * a[i];
    right += static_cast<double>(b[i]) * b[i];
  }
  EXPECT_NEAR(operands.reference(Path::fast).scales[0], std::sqrt(left) * std::sqrt(right) / 8, 1e-9);
  EXPECT_DOUBLE_EQ(GemmOp().tolerance(problem).atol, 1e-4 * 0.1 * 8);
}

}  // namespace attune
