// SPDX-License-Identifier: MIT
// Verification finds kernels that end a product wrongly, with the op's data for a problem with an epilogue.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "device/fake/fake_device.h"
#include "measure/verification.h"
#include "ops/gemm/gemm_op.h"
#include "tensor/convert.h"

namespace attune {
namespace {

/// The fault of a planted kernel.
enum class EpilogueFault : uint8_t {
  none,
  other_activation,  // the next one of the list
  no_activation,
  act_before_bias,
  act_before_residual,
  act_on_rounded_sum,  // on the sum rounded to the result's type
  alpha_forgotten,
  alpha_on_the_bias,  // too
  beta_forgotten,
  beta_is_one,
  out_scale_forgotten,
  scaled_before_act,
  residual_transposed,
};

double planted_activation(Activation act, double x) {
  switch (act) {
    case Activation::relu:
      return std::max(x, 0.0);
    case Activation::gelu:
      return x / 2 * std::erfc(-x / std::sqrt(2.0));
    case Activation::gelu_tanh:
      return x / 2 * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::none:
      break;
  }
  return x;
}

/// Sums in double and rounds to fp32 behind each step, as a good kernel may; then does one thing wrong.
class PlantedEpilogue final : public Plan {
 public:
  PlantedEpilogue(const GemmShape& shape, EpilogueFault fault) : shape_(shape), fault_(fault) {}
  const PlanTraits& traits() const noexcept override { return traits_; }

  void run(const Launch& enqueued) const override {
    const std::vector<void*> operands = FakeMemory::reach(enqueued.operands);
    const Launch launch{operands, FakeMemory::reach(enqueued.workspace), enqueued.stream};
    const auto where = GemmOperands::of(shape_);
    for (int64_t i = 0; i < shape_.m; ++i) {
      for (int64_t j = 0; j < shape_.n; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < shape_.k; ++k) {
          sum += double{load(shape_.in, launch.operands[where.a], i * shape_.k + k)} *
                 load(shape_.in, launch.operands[where.b], j * shape_.k + k);
        }
        const float value = finish(launch, static_cast<float>(sum), i, j);
        from_float(shape_.out, std::span(&value, 1),
                   static_cast<std::byte*>(launch.operands[where.c]) + (i * shape_.n + j) * bits(shape_.out) / 8);
      }
    }
  }

 private:
  bool is(EpilogueFault fault) const { return fault_ == fault; }
  static float load(DType dtype, const void* tensor, int64_t index) {
    float value = 0;
    to_float(dtype, static_cast<const std::byte*>(tensor) + index * bits(dtype) / 8, std::span(&value, 1));
    return value;
  }
  float number(const Launch& launch, Factor factor, size_t operand) const {
    if (factor != Factor::any) return factor == Factor::one ? 1.0f : 0.0f;
    return load(DType::fp32, launch.operands[operand], 0);
  }
  float activated(float x) const {
    auto number = static_cast<size_t>(shape_.epilogue.act);
    if (is(EpilogueFault::no_activation)) return x;
    if (is(EpilogueFault::other_activation)) number = number % (kActivations.size() - 1) + 1;
    if (is(EpilogueFault::act_on_rounded_sum)) {
      std::array<std::byte, 4> stored{};
      from_float(shape_.out, std::span(&x, 1), stored.data());
      to_float(shape_.out, stored.data(), std::span(&x, 1));
    }
    return static_cast<float>(planted_activation(static_cast<Activation>(number), x));
  }

  float finish(const Launch& launch, float sum, int64_t i, int64_t j) const {
    const auto where = GemmOperands::of(shape_);
    const GemmEpilogue& asked = shape_.epilogue;
    const float alpha = is(EpilogueFault::alpha_forgotten) ? 1 : number(launch, asked.alpha, where.alpha);
    const float beta = is(EpilogueFault::beta_forgotten) ? 0
                       : is(EpilogueFault::beta_is_one)  ? 1
                                                         : number(launch, asked.beta, where.beta);
    const float scale = asked.out_scale && !is(EpilogueFault::out_scale_forgotten)
                            ? load(DType::fp32, launch.operands[where.out_scale], 0)
                            : 1.0f;
    const float bias = shape_.bias ? load(shape_.in, launch.operands[where.bias], j) : 0.0f;
    const int64_t at = is(EpilogueFault::residual_transposed) ? j % shape_.m * shape_.n + i : i * shape_.n + j;
    const float residual = asked.beta == Factor::zero ? 0.0f : load(shape_.out, launch.operands[where.residual], at);
    float x = asked.alpha == Factor::zero ? 0 : alpha * sum;  // A and B are not read
    if (is(EpilogueFault::alpha_on_the_bias)) return scale * activated(x + alpha * bias + beta * residual);
    if (is(EpilogueFault::act_before_bias)) return scale * (activated(x + beta * residual) + bias);
    if (is(EpilogueFault::act_before_residual)) return scale * (activated(x + bias) + beta * residual);
    x += bias;
    x += beta * residual;
    return is(EpilogueFault::scaled_before_act) ? activated(scale * x) : scale * activated(x);
  }

  GemmShape shape_;
  EpilogueFault fault_;
  PlanTraits traits_;
};

Finding found_in(const std::string& text, EpilogueFault fault) {
  const Problem given = Problem::parse("gemm_a16w16 " + text);
  const Problem problem = op_of(given).normalise(given, {});
  FakeDevice device;
  ReferenceCache references(device, op_of(problem), problem, 42);
  Verification verification(device, op_of(problem), problem, references);
  const PlantedEpilogue plan(GemmShape::of(problem), fault);
  return verification.verify(plan.traits(), [&](const Launch& launch) { plan.run(launch); }, {});
}

constexpr const char* kTypesOfResults[] = {"dtype=fp32", "dtype=bf16", "dtype=bf16 outdtype=fp32", "dtype=fp16"};

}  // namespace

TEST(EpilogueVerification, PassesWhatIsRight) {
  std::vector<std::string> problems;
  for (const std::string_view act : kActivations) {
    for (const char* types : kTypesOfResults) {
      for (const char* rest : {"", "bias=1 alpha=any beta=any out_scale=1"})
        problems.push_back(fmt::format("m=7 n=12 k=41 {} act={} {}", types, act, rest));
    }
    for (const char* size : {"m=7 n=12 k=1", "m=4 n=9 k=3000"})
      problems.push_back(fmt::format("{} dtype=bf16 outdtype=fp32 bias=1 act={} beta=1", size, act));
    problems.push_back(fmt::format("m=7 n=12 k=41 dtype=fp32 bias=1 act={} alpha=0 beta=any", act));
  }
  for (const std::string& text : problems) {
    const Finding found = found_in(text, EpilogueFault::none);
    EXPECT_EQ(found.status, Status::ok) << text << ": " << found.detail;
  }
}

TEST(EpilogueVerification, CatchesAnotherActivationForLongSumsToo) {
  for (size_t act = 1; act < kActivations.size(); ++act) {
    std::vector<std::string> problems = {fmt::format("m=16 n=32 k=4096 dtype=bf16 act={}", kActivations[act])};
    for (const char* types : kTypesOfResults)
      problems.push_back(fmt::format("m=17 n=34 k=41 {} act={}", types, kActivations[act]));
    for (const std::string& text : problems) {
      EXPECT_EQ(found_in(text, EpilogueFault::other_activation).status, Status::wrong_result) << text;
      EXPECT_EQ(found_in(text, EpilogueFault::no_activation).status, Status::wrong_result) << text;
    }
  }
}

TEST(EpilogueVerification, CatchesAnActivationThatComesTooEarly) {
  for (const char* types : kTypesOfResults) {
    for (size_t act = 1; act < kActivations.size(); ++act) {
      const auto text = fmt::format("m=9 n=20 k=70 {} bias=1 beta=any out_scale=1 act={}", types, kActivations[act]);
      for (const auto fault :
           {EpilogueFault::act_before_bias, EpilogueFault::act_before_residual, EpilogueFault::scaled_before_act}) {
        // relu(s·x) is s·relu(x) for a positive s.
        if (fault == EpilogueFault::scaled_before_act && act == static_cast<size_t>(Activation::relu)) continue;
        EXPECT_EQ(found_in(text, fault).status, Status::wrong_result) << text << " " << static_cast<int>(fault);
      }
    }
  }
}

/// The sum that the activation sees is the accumulator's, not the one that the result's type could hold.
TEST(EpilogueVerification, CatchesAnActivationOfTheRoundedSum) {
  for (const char* types : {"dtype=bf16", "dtype=fp16"}) {
    for (const char* act : {"gelu", "gelu_tanh", "silu"}) {
      for (const char* size : {"m=32 n=64 k=41", "m=32 n=64 k=1024"}) {
        const auto text = fmt::format("{} {} act={}", size, types, act);
        EXPECT_EQ(found_in(text, EpilogueFault::act_on_rounded_sum).status, Status::wrong_result) << text;
      }
    }
  }
  // relu changes no bit but the sign's, so the order makes no difference.
  EXPECT_EQ(found_in("m=32 n=64 k=41 dtype=bf16 act=relu", EpilogueFault::act_on_rounded_sum).status, Status::ok);
}

TEST(EpilogueVerification, CatchesForgottenFactors) {
  for (const char* types : kTypesOfResults) {
    for (const char* act : {"none", "relu", "gelu"}) {
      const auto any = fmt::format("m=9 n=20 k=300 {} bias=1 alpha=any beta=any out_scale=1 act={}", types, act);
      for (const auto fault :
           {EpilogueFault::alpha_forgotten, EpilogueFault::alpha_on_the_bias, EpilogueFault::beta_forgotten,
            EpilogueFault::beta_is_one, EpilogueFault::out_scale_forgotten, EpilogueFault::residual_transposed})
        EXPECT_EQ(found_in(any, fault).status, Status::wrong_result) << any << " " << static_cast<int>(fault);
      const auto one = fmt::format("m=9 n=20 k=41 {} beta=1 act={}", types, act);
      EXPECT_EQ(found_in(one, EpilogueFault::beta_forgotten).status, Status::wrong_result) << one;
    }
  }
}

}  // namespace attune
