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

}  // namespace
}  // namespace attune
