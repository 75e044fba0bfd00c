// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "attune/attune.h"
#include "attune/dispatcher.h"
#include "attune/error.h"

namespace attune {
namespace {

TEST(GlobalDispatcher, ThereIsOneForEachDevice) {
  Dispatcher& fake = Dispatcher::global("fake:0");
  EXPECT_EQ(&Dispatcher::global("fake:0"), &fake);
  EXPECT_EQ(fake.threads(), 4) << "its units";
  EXPECT_EQ(&Dispatcher::global("cpu:0"), &Dispatcher::global()) << "the default device's";
  EXPECT_NE(&fake, &Dispatcher::global());
}

TEST(GlobalDispatcher, ADeviceThatIsNotHereIsRefused) {
  EXPECT_THROW(Dispatcher::global("fake:7"), Error);
  EXPECT_THROW(Dispatcher::global("tpu:0"), Error);
}

TEST(GlobalDispatcher, AHandleInCStandsForEach) {
  attune_dispatcher *global = nullptr, *cpu = nullptr, *fake = nullptr, *again = nullptr;
  ASSERT_EQ(attune_global(&global), ATTUNE_OK);
  ASSERT_EQ(attune_global_on("cpu:0", &cpu), ATTUNE_OK);
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
