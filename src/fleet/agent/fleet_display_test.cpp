// SPDX-License-Identifier: MIT
#include "fleet/agent/fleet_display.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(FleetDisplay, SaysOnceThatOtherProgramsDisturbedContests) {
  FleetDisplay display(true, {});
  EndedJob job;
  job.outcome.decision.emplace();
  display.ended(job);
  EXPECT_EQ(display.noise_notice(), "");
  job.outcome.decision->noisy = true;
  display.ended(job);
  display.ended(job);
  EXPECT_EQ(display.noise_notice(),
            "other programs disturbed the samples of 2 contests, whose winners had to be at least 2 % faster");
}

TEST(FleetDisplay, TheLossOfADeviceIsToldAtOnceAndNamesIt) {
  std::string told;
  FleetDisplay display(true, {}, [&](const std::string& why) { told += why + "\n"; });
  display.device_lost({.id = "cuda:3"}, "it fails its probe");
  display.device_lost({.id = "cuda:1"}, "3 jobs in a row failed on cuda:1");
  EXPECT_EQ(told, "cuda:3: it fails its probe\n3 jobs in a row failed on cuda:1\n");
}

}  // namespace
}  // namespace attune
