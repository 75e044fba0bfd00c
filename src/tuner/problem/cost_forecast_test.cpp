// SPDX-License-Identifier: MIT
#include "tuner/problem/cost_forecast.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

const Problem kLarge = Problem::parse("gemm_a16w16 m=4096 n=4096 k=4096 dtype=fp32 outdtype=fp32 bias=0");

DeviceInfo two_cores() {
  DeviceInfo device;
  device.num_units = 2;
  device.peak_gflops = {{"fp32", 200}};
  device.bandwidth_gbs = 20;
  return device;
}

TEST(CostForecast, BeforeAnythingRanTheRooflineAndTheReferencesSpeak) {
  const CostForecast forecast(kLarge, two_cores());
  const Turn turn{.slot = 1};
  EXPECT_NEAR(forecast.turns_s({&turn, 1}), 2 * 2.0 * 4096 * 4096 * 4096 / 200e9, 0.01);
  EXPECT_GT(forecast.admission_s(), 5 * min_launch_s(kLarge, two_cores()) + 1) << "the references take longer";
  EXPECT_GT(forecast.whole_s(), forecast.admission_s());
}

TEST(CostForecast, GoesByThePeakOfTheTypeThatIsMultipliedElseOfFp32) {
  const auto launch_s = [](const std::string& types, std::map<std::string, double> peaks) {
    DeviceInfo device = two_cores();
    device.peak_gflops = std::move(peaks);
    return min_launch_s(Problem::parse("gemm_a16w16 m=4096 n=4096 k=4096 bias=0 " + types), device);
  };
  const double flops = 2.0 * 4096 * 4096 * 4096;
  EXPECT_DOUBLE_EQ(launch_s("dtype=bf16 outdtype=fp32", {{"fp32", 200}, {"bf16", 800}}), flops / 800e9);
  EXPECT_DOUBLE_EQ(launch_s("dtype=bf16 outdtype=fp32", {{"fp32", 200}}), flops / 200e9);
  EXPECT_DOUBLE_EQ(launch_s("dtype=bf16 outdtype=fp32", {}), flops / 30e9) << "the rate of a slow core";
}

TEST(CostForecast, ASampledCandidateCostsWhatItTookAndOthersTheSame) {
  CostForecast forecast(kLarge, two_cores());
  const std::vector<Turn> turns = {{.slot = 1}, {.slot = 2, .launches = 3}};
  forecast.sampled(std::span(turns).first(1), std::vector<Sample>{{.us = 5e5}});
  EXPECT_DOUBLE_EQ(forecast.turns_s(turns), 2 * 0.5 + 4 * 0.5);
  forecast.sampled(std::span(turns).last(1), std::vector<Sample>{{.us = 1e6}});
  EXPECT_DOUBLE_EQ(forecast.turns_s(turns), 2 * 0.5 + 4 * 1.0);
}

TEST(CostForecast, ADecisionTakesDozensOfLaunches) {
  CostForecast forecast(kLarge, two_cores());
  const double at_first_s = forecast.decision_s();
  EXPECT_GT(at_first_s, 20 * min_launch_s(kLarge, two_cores()));
  const Turn turn{.slot = 1};
  forecast.sampled({&turn, 1}, std::vector<Sample>{{.us = 5e6}});
  EXPECT_GT(forecast.decision_s(), at_first_s) << "slower than the roofline";
}

TEST(CostForecast, TheFirstAdmissionSaysNothingOfTheOthers) {
  CostForecast forecast(kLarge, two_cores());
  forecast.admitted(20);
  EXPECT_DOUBLE_EQ(forecast.admission_s(), 5 * min_launch_s(kLarge, two_cores()));
  forecast.admitted(1);
  forecast.admitted(3);
  EXPECT_DOUBLE_EQ(forecast.admission_s(), 2);
}

}  // namespace
}  // namespace attune
