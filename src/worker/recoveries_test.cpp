// SPDX-License-Identifier: MIT
#include "worker/recoveries.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

Recoveries::Time at(int ms) { return Recoveries::Time(Milliseconds(ms)); }
Recovery recovery(int worker, int everything) { return {Milliseconds(worker), Milliseconds(everything)}; }

TEST(Recoveries, TellsOfEachDeathWhenAWorkerWasUpAndWhenItHadEverything) {
  Recoveries recoveries;
  recoveries.died(at(100));
  recoveries.worker_is_up(at(110));
  EXPECT_TRUE(recoveries.all().empty()) << "it lacks something";
  recoveries.died(at(1110));  // A candidate ran into its deadline while it was restored.
  recoveries.worker_is_up(at(1130));
  recoveries.everything_is_back(at(1200));
  recoveries.everything_is_back(at(1300));  // Of a recycle, after no death.
  const std::vector<Recovery> both = {recovery(10, 1100), recovery(20, 90)};
  EXPECT_EQ(recoveries.all(), both);
}

TEST(Recoveries, OneThatIsGivenUpIsNone) {
  Recoveries recoveries;
  recoveries.died(at(100));
  recoveries.worker_is_up(at(110));
  recoveries.give_up();
  recoveries.died(at(200));
  recoveries.worker_is_up(at(205));
  recoveries.everything_is_back(at(206));
  EXPECT_EQ(recoveries.all(), std::vector<Recovery>{recovery(5, 6)});
}

}  // namespace
}  // namespace attune
