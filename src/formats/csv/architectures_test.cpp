// SPDX-License-Identifier: MIT
#include "formats/csv/architectures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/test_files.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Architectures : public testing::Test {
 protected:
  std::filesystem::path put(const std::string& name, std::string_view content) { return folder_.put(name, content); }
  TestFolder folder_;
};

TEST_F(Architectures, AreTheDifferentOnesOfTheRows) {
  EXPECT_THAT(architectures_in(put("t.csv", "gfx,M,N,K\nsm_90,1,2,3\n,1,2,3\nsm_80,1,2,3\nsm_90,2,2,3\n")),
              ElementsAre("sm_80", "sm_90"));
}

TEST_F(Architectures, AreNoneWithoutTheColumnOrAFile) {
  EXPECT_THAT(architectures_in(put("u.csv", "M,N,K\n1,2,3\n")), IsEmpty());
  EXPECT_THAT(architectures_in(put("v.csv", "")), IsEmpty());
  EXPECT_THAT(architectures_in("missing.csv"), IsEmpty());
  EXPECT_THAT(architectures_in("/dev/null"), IsEmpty());
}

}  // namespace
}  // namespace attune
