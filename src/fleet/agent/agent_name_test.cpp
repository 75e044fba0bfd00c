// SPDX-License-Identifier: MIT
#include "fleet/agent/agent_name.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(AgentName, ThisProcessHasNotEnded) { EXPECT_FALSE(is_ended_agent(agent_name())); }

TEST(AgentName, AProcessOfTheSameNumberIsAnotherAgent) {
  const std::string own = agent_name();
  EXPECT_TRUE(is_ended_agent(own + "1")) << "it began at another time";
}

TEST(AgentName, NothingIsKnownOfOtherMachines) {
  const std::string own = agent_name();
  EXPECT_FALSE(is_ended_agent("other" + own + "1"));
  EXPECT_FALSE(is_ended_agent(""));
  EXPECT_FALSE(is_ended_agent("a/b/c"));
}

}  // namespace
}  // namespace attune
