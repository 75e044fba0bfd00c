// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "attune/attune.h"
#include "attune/dispatcher.h"
#include "attune/error.h"
#include "solver/registry.h"

namespace attune {
namespace {

class GlobalDispatcher : public testing::Test {
 protected:
  /// A dispatcher leaves the process's modules closed until they are asked for; other tests here want them open.
  static void SetUpTestSuite() { registry(); }
};

TEST_F(GlobalDispatcher, ThereIsOneForEachDevice) {
  Dispatcher& fake = Dispatcher::global("fake:0");
  EXPECT_EQ(&Dispatcher::global("fake:0"), &fake);
  EXPECT_EQ(fake.threads(), 4) << "its units";
  EXPECT_EQ(&Dispatcher::global("cpu:0"), &Dispatcher::global()) << "the default device's";
  EXPECT_NE(&fake, &Dispatcher::global());
}

TEST_F(GlobalDispatcher, ADeviceThatIsNotHereIsRefused) {
  EXPECT_THROW(Dispatcher::global("fake:7"), Error);
  EXPECT_THROW(Dispatcher::global("tpu:0"), Error);
}

TEST_F(GlobalDispatcher, AHandleInCStandsForEach) {
  attune_dispatcher *global = nullptr, *cpu = nullptr, *fake = nullptr, *again = nullptr;
  ASSERT_EQ(attune_global(&global), ATTUNE_OK);
  ASSERT_EQ(attune_global_on("cpu:0", &cpu), ATTUNE_OK);
  uint64_t freed = 1;
  EXPECT_EQ(attune_release_memory(cpu, nullptr), ATTUNE_OK);
  EXPECT_EQ(attune_release_memory(cpu, &freed), ATTUNE_OK);
  EXPECT_EQ(freed, 0u) << "all is free";
  EXPECT_EQ(attune_release_memory(nullptr, &freed), ATTUNE_INVALID_INPUT);
  ASSERT_EQ(attune_global_on("fake:0", &fake), ATTUNE_OK);
  ASSERT_EQ(attune_global_on("fake:0", &again), ATTUNE_OK);
  EXPECT_EQ(cpu, global);
  EXPECT_EQ(again, fake);
  EXPECT_NE(fake, global);
  EXPECT_EQ(attune_close(fake), ATTUNE_INVALID_INPUT);
  EXPECT_EQ(attune_global_on("fake:7", &fake), ATTUNE_INVALID_INPUT);
  EXPECT_EQ(attune_global_on(nullptr, &fake), ATTUNE_INVALID_INPUT);
  EXPECT_EQ(attune_global_on("fake:0", nullptr), ATTUNE_INVALID_INPUT);
}

}  // namespace
}  // namespace attune
