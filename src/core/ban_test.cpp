// SPDX-License-Identifier: MIT
#include "core/ban.h"

#include <gtest/gtest.h>

namespace attune {

TEST(BanList, FindsAKernelByItsFullNameAndByItsSolver) {
  const BanList bans({{"a.gemm@1:x=1", "", "", "wrong"}, {"b.gemm", "", "", "slow to load"}});
  ASSERT_NE(bans.find("a.gemm@1:x=1", "d/4"), nullptr);
  EXPECT_EQ(ban_clause(*bans.find("a.gemm@1:x=1", "d/4")), "is banned: wrong");
  EXPECT_EQ(bans.find("a.gemm@1:x=2", "d/4"), nullptr);
  EXPECT_EQ(bans.find("a.gemm@2:x=1", "d/4"), nullptr) << "another version is another kernel";
  EXPECT_NE(bans.find("b.gemm@7:y=1", "d/4"), nullptr);
  EXPECT_EQ(bans.find("b.gemm_other@7:y=1", "d/4"), nullptr);
  EXPECT_EQ(BanList().find("a.gemm@1:x=1", "d/4"), nullptr);
}

TEST(BanList, HoldsOnItsDeviceAndForItsProblemAlone) {
  const BanList bans({{"a@1:x=1", "d/4", "", "there"}, {"a@1:x=2", "", "gemm m=1", "that one"}});
  EXPECT_NE(bans.find("a@1:x=1", "d/4"), nullptr);
  EXPECT_EQ(bans.find("a@1:x=1", "d/2"), nullptr);
  EXPECT_EQ(bans.find("a@1:x=2", "d/4"), nullptr);
  EXPECT_NE(bans.find("a@1:x=2", "d/4", "gemm m=1"), nullptr);
  EXPECT_EQ(bans.find("a@1:x=2", "d/4", "gemm m=2"), nullptr);
}

TEST(Ban, NamesACandidateOrASolver) {
  EXPECT_TRUE(is_bannable("fake.gemm@1:x=1;y=2"));
  EXPECT_TRUE(is_bannable("fake.gemm"));
  for (const char* no : {"", "fake gemm", "fake.gemm@", "fake.*", "a@1:x"}) EXPECT_FALSE(is_bannable(no)) << no;
}

}  // namespace attune
