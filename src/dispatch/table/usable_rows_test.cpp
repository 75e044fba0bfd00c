// SPDX-License-Identifier: MIT
#include "attune/usable_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/error.h"
#include "testing/test_files.h"

namespace attune {
namespace {

TEST(UsableRows, AreThoseThatALookupMayTake) {
  const TestFolder folder;
  const auto table = folder.put("any.csv",
                                "\xef\xbb\xbfgfx,cu_num, m ,N,K,bias,dtype,outdtype,us,kernelName,_tag\n"
                                "a,1, 4 ,96,64, true ,fp32,fp32,12.5,slower,\n"
                                "a,1,4,96,64,True,torch.float32,torch.float32,11.5,best,\n"
                                "b,1,4,96,64,True,torch.float32,torch.float32,13.5,other device,\n"
                                "a,1,5,96,64,False,torch.float32,torch.float32,inf,x,\n"
                                "a,1,6,96,64,False,torch.float32,torch.float32,0,x,\n"
                                "a,1,7,96,64,False,torch.float32,torch.float32,-1,x,\n"
                                "a,1,8,96,64,False,torch.float32,torch.float32,1,x,tagged\n"
                                "a,1,many,96,64,False,torch.float32,torch.float32,1,x,\n");
  const auto rows = usable_rows(table, "gemm_a16w16");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].candidate, "best");
  EXPECT_EQ(rows[0].us, 11.5);
  EXPECT_EQ(rows[0].gfx, "a");
  EXPECT_EQ(rows[0].problem.integer("m"), 4);
  EXPECT_EQ(rows[0].problem.dtype("dtype"), DType::fp32);
  EXPECT_EQ(rows[0].problem.integer("bias"), 1);
  EXPECT_TRUE(rows[0].problem.has("trans_b")) << "defaults are stated";
  EXPECT_EQ(rows[1].candidate, "other device");
}

TEST(UsableRows, OfAFileThatIsNoTunedTableAreRefused) {
  const TestFolder folder;
  EXPECT_THROW(usable_rows(folder.put("list.csv", "M,N,K\n1,2,3\n"), "gemm_a16w16"), Error);
  EXPECT_THROW(usable_rows(folder.path() / "absent.csv", "gemm_a16w16"), Error);
  EXPECT_THROW(usable_rows(folder.put("t.csv", "M,N,K,us\n"), "no_op"), Error);
}

}  // namespace
}  // namespace attune
