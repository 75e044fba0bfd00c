// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "device/fake/fake_device.h"
#include "testing/opened_solver.h"

namespace attune {
namespace {

class FakeSolverTimes : public testing::Test {
 protected:
  double us(const std::string& problem, const Config& config) {
    auto& device = dynamic_cast<FakeDevice&>(fake_.device());
    const double before = device.now_us();
    EXPECT_EQ(fake_.wrong(problem, config.key()), "");
    return device.now_us() - before;
  }
  std::string best(const std::string& problem) {
    std::string best;
    double least_us = 0;
    for (const Config& config : fake_.configs(problem)) {
      const double here_us = us(problem, config);
      if (!best.empty() && here_us >= least_us) continue;
      best = config.key();
      least_us = here_us;
    }
    return best;
  }
  std::string default_config(const std::string& problem) {
    return fake_.backend().default_config(fake_.problem(problem)).key();
  }
  OpenedSolver fake_{"fake.gemm", "fake:0"};
};

TEST_F(FakeSolverTimes, AreLeastForTilesThatFitTheProblemWhichTheDefaultDoesNot) {
  const std::string thin = "gemm_a16w16 m=16 n=32 k=8 dtype=bf16";
  EXPECT_EQ(best(thin), "split_k=1;tile_m=16;tile_n=32");
  EXPECT_NE(best(thin), default_config(thin));
  EXPECT_EQ(best("gemm_a16w16 m=64 n=64 k=4 dtype=bf16"), default_config("gemm_a16w16 m=64 n=64 k=4 dtype=bf16"));
}

TEST_F(FakeSolverTimes, PreferASplitOfFourForAProblemEightTimesAsDeepAsWide) {
  EXPECT_EQ(best("gemm_a16w16 m=16 n=16 k=128 dtype=bf16"), "split_k=4;tile_m=16;tile_n=16");
  EXPECT_EQ(best("gemm_a16w16 m=16 n=16 k=124 dtype=bf16"), "split_k=1;tile_m=16;tile_n=16");
}

TEST_F(FakeSolverTimes, FollowTheFormula) {
  // 2 µs, what a launch takes, and 1.2 rooflines, plus 12 % for each doubling of tile_m off the best and 8 % for
  // tile_n.
  const std::string problem = "gemm_a16w16 m=64 n=64 k=128 dtype=fp32";
  const double ideal_us = 2.0 * 64 * 64 * 128 / 1e6, fixed_us = 2 + FakeDevice::kLaunchUs;
  EXPECT_NEAR(us(problem, Config::parse("split_k=1;tile_m=64;tile_n=64")), fixed_us + 1.2 * ideal_us, 1e-9);
  EXPECT_NEAR(us(problem, Config::parse("split_k=1;tile_m=16;tile_n=64")), fixed_us + 1.2 * 1.24 * ideal_us, 1e-9);
  EXPECT_NEAR(us(problem, Config::parse("split_k=1;tile_m=64;tile_n=128")), fixed_us + 1.2 * 1.08 * ideal_us, 1e-9);
}

TEST(FakeOpSolver, ComputesEveryOpOfThisBuildRight) {
  for (const Op* op : ops()) {
    if (op->family().number >= OpId::first_registered || op->name() == "gemm_a16w16") continue;
    OpenedSolver fake("fake." + std::string(op->name()), "fake:0");
    const std::string problem = std::string(op->name()) + " " + std::string(op->family().samples[1]);
    EXPECT_EQ(fake.wrong(problem, "tile=16;unroll=2"), "") << problem;
    EXPECT_EQ(fake.configs(problem).size(), 12u);
  }
}

TEST_F(FakeSolverTimes, AreOfTheFakeDeviceOnly) {
  OpenedSolver portable("portable.gemm");
  const auto problem = fake_.problem("gemm_a16w16 m=8 n=8 k=8 dtype=fp32");
  EXPECT_FALSE(fake_.solver().supports(problem, portable.device().info()).yes);
  EXPECT_THROW(fake_.solver().open(portable.device()), Error);
}

}  // namespace
}  // namespace attune
