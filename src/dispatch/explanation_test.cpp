// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/dispatcher_fixture.h"

namespace attune {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST_F(DispatcherTest, ExplainsEachStep) {
  write(row(16, kGood));
  dispatcher().require(key(5));
  EXPECT_THAT(dispatcher().explain(key(5)),
              testing::AllOf(HasSubstr("exact          m=5: no row"), HasSubstr("padded_fine    m=16: "),
                             HasSubstr(kGood), HasSubstr("served by       padded_fine")));
}

TEST_F(DispatcherTest, ExplainsWhichDefaultConfigServes) {
  write("");
  dispatcher().require(key(5));
  EXPECT_THAT(dispatcher().explain(key(5)),
              HasSubstr("served by       the default config fake.gemm@1:split_k=1;tile_m="));
}

TEST_F(DispatcherTest, ExplainsWhichPredictionsAreNotAllowed) {
  options_.max_regret = 0.25;
  write(row(40, kGood, 1) + row(60, kOther, 1.4));
  EXPECT_THAT(dispatcher().explain(key(50)),
              AllOf(HasSubstr("predicted      m=60: "), HasSubstr("at most 20 % slower than the best\n"),
                    HasSubstr("predicted      m=40: "), HasSubstr("slower than the best, above the limit"),
                    HasSubstr("not called yet")));
}

}  // namespace
}  // namespace attune
