// SPDX-License-Identifier: MIT
#include "solvers/fake/faulty_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"

namespace attune {
namespace {

/// A plan that writes twos, in 3 µs.
class Twos final : public Plan {
 public:
  explicit Twos(FakeDevice& device) : device_(device) {}
  const PlanTraits& traits() const noexcept override { return traits_; }
  void run(const Launch& launch) const override {
    std::fill_n(static_cast<float*>(launch.operands.back()), 4, 2.0f);
    device_.advance_us(3);
  }

 private:
  FakeDevice& device_;
  PlanTraits traits_;
};

class APlantedFault : public testing::Test {
 protected:
  void run(InjectedFault fault, uint64_t launches = 1, uint64_t from_launch = 1) {
    PlantedFault planted;
    planted.fault = fault;
    planted.from_launch = from_launch;
    const TensorSpec spec{.role = "x", .shape = {4}};
    const auto plan = plant({planted}, std::make_unique<Twos>(device_), {spec, spec}, device_);
    const std::array<void*, 2> operands = {input_.data(), output_.data()};
    const double began_us = device_.now_us();
    for (uint64_t i = 0; i < launches; ++i) plan->run({.operands = operands});
    took_us_ = device_.now_us() - began_us;
  }
  bool right() const {
    return std::all_of(output_.begin(), output_.begin() + 4, [](float x) { return x == 2; });
  }
  bool inputs_unchanged() const {
    return std::all_of(input_.begin(), input_.end(), [](float x) { return x == 1; });
  }
  bool beyond_unchanged() const {
    return std::all_of(output_.begin() + 4, output_.end(), [](float x) { return x == 0; });
  }

  FakeDevice device_;
  std::vector<float> input_ = std::vector<float>(4, 1.0f);
  std::vector<float> output_ = std::vector<float>(2048, 0.0f);  // The tail lies beyond the output.
  double took_us_ = 0;
};

TEST_F(APlantedFault, MakesEveryElementWrong) {
  run(InjectedFault::wrong_result);
  EXPECT_TRUE(std::none_of(output_.begin(), output_.begin() + 4, [](float x) { return std::abs(x - 2) < 1; }));
  EXPECT_TRUE(inputs_unchanged() && beyond_unchanged());
}

TEST_F(APlantedFault, MakesAnElementANan) {
  run(InjectedFault::nan);
  EXPECT_TRUE(std::isnan(output_[0]));
  EXPECT_EQ(output_[1], 2);
}

TEST_F(APlantedFault, ChangesInputsForGood) {
  run(InjectedFault::scribble_inputs, 2);
  EXPECT_FALSE(inputs_unchanged());
  EXPECT_TRUE(right() && beyond_unchanged());
}

TEST_F(APlantedFault, WritesBeyondTheOutput) {
  run(InjectedFault::scribble_after);
  EXPECT_FALSE(beyond_unchanged());
  EXPECT_EQ(output_[4 + 1024], 0) << "not more than it says";
  EXPECT_TRUE(right() && inputs_unchanged());
}

TEST_F(APlantedFault, TakesLessThanNoTime) {
  run(InjectedFault::huge_result_time);
  EXPECT_DOUBLE_EQ(took_us_, -1 + FakeDevice::kLaunchUs);
  EXPECT_TRUE(right());
}

TEST_F(APlantedFault, WaitsForItsLaunch) {
  run(InjectedFault::wrong_result, 2, 3);
  EXPECT_TRUE(right());
  EXPECT_DOUBLE_EQ(took_us_, 6);
  run(InjectedFault::wrong_result, 3, 3);
  EXPECT_FALSE(right());
}

TEST_F(APlantedFault, MayThrowWhatIsNoError) {
  EXPECT_THROW(run(InjectedFault::throws), int);
  EXPECT_THROW(run(InjectedFault::unsupported), Error);
}

}  // namespace
}  // namespace attune
