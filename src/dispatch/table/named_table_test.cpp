// SPDX-License-Identifier: MIT
#include "dispatch/table/named_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/csv/table_columns.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::HasSubstr;

constexpr const char* kHeader = "gfx,cu_num,M,N,K,us,kernelName\n";

class NamedTable : public testing::Test {
 protected:
  NamedTableCheck check(const std::string& content, const DeviceInfo* device = nullptr) {
    return check_named_table(folder_.put("bf16_tuned_gemm.csv", content), family_, device);
  }
  std::string why(const std::string& content) { return check(content).why_not.value_or("a table"); }

  TestFolder folder_;
  const FamilySpec& family_ = *find_family("gemm_a16w16");
};

TEST_F(NamedTable, IsToldFromAListByItsColumns) {
  EXPECT_THAT(why("M,N,K,bias,dtype\n1,2,3,False,bf16\n"), HasSubstr("a list of shapes"));
  EXPECT_EQ(why("M,N,K,US,kernelName\n1,2,3,4,a@1:x=1\n"), "a table");
  EXPECT_EQ(why("M,N,K,solidx\n1,2,3,4\n"), "a table");
  EXPECT_EQ(why(kHeader), "a table") << "a header alone is legal";
}

TEST_F(NamedTable, IsToldFromThoseOfOtherFamiliesByItsColumns) {
  for (const FamilySpec& other : families()) {
    std::string header;
    for (const std::string& column : new_table_header(other)) header += (header.empty() ? "" : ",") + column;
    const bool is_own = other.op == family_.op;
    EXPECT_EQ(check(header + "\n").why_not.has_value(), !is_own) << other.op << ": " << header;
  }
}

TEST_F(NamedTable, AFindDbIsOneOfConvolutionsIfItNamesSolversOfThisProgram) {
  const std::string key = "8-9-8-3x3-8-9-8-2-1x1-1x1-1x1-0-NCHW-FP32-F";
  const DeviceInfo here = {.id = "fake:0", .kind = "fake", .gfx = "fake", .num_units = 4};
  const auto conv = [&](const std::string& name, const std::string& entries) {
    return check_named_table(folder_.put(name, key + "=" + entries + "\n"), *find_family("conv"), &here);
  };
  EXPECT_FALSE(conv("fake_4.HOST.fdb.txt", "ConvAsm1x1U:1,0,A;fake.conv:2,0,A").why_not.has_value());
  EXPECT_TRUE(conv("fake_4.HOST.fdb.txt", "fake.conv:2,0,A").has_rows);
  EXPECT_FALSE(conv("fake_8.HOST.fdb.txt", "fake.conv:2,0,A").has_rows) << "of another device";
  EXPECT_THAT(conv("fake_4.HOST.fdb.txt", "ConvAsm1x1U:1,0,A").why_not.value_or(""),
              HasSubstr("whose solvers this program lacks, such as ConvAsm1x1U"));
  EXPECT_THAT(conv("mine.fdb.txt", "fake.conv:2,0,A").why_not.value_or(""), HasSubstr("must begin with its device"));
  EXPECT_THAT(why(key + "=fake.conv:2,0,A\n"), HasSubstr("which holds convolutions, not gemm_a16w16"));
}

TEST_F(NamedTable, IsNotTornInTheMiddleOfALine) {
  const std::string whole = kHeader + std::string("fake,4,1,2,3,1,a@1:x=1\nfake,4,2,2,3,1,a@1:x=1");
  EXPECT_EQ(why(whole), "a table") << "the last line may lack its end";
  EXPECT_EQ(why(whole + "\n"), "a table");
  EXPECT_THAT(why(whole + "\nfake,4,3"), HasSubstr("last line is cut off"));
  EXPECT_THAT(why("gfx,cu_num,M,N"), HasSubstr("no times and no kernels"));
  EXPECT_THAT(why(""), HasSubstr("bf16_tuned_gemm.csv"));
}

TEST_F(NamedTable, HasRowsForADeviceThatCanServe) {
  const DeviceInfo here = {.id = "fake:0", .kind = "fake", .gfx = "fake", .num_units = 4, .model = "mine"};
  const auto has = [&](const std::string& row) {
    return check("gfx,cu_num,M,N,K,us,kernelName,device,_tag\n" + row, &here).has_rows;
  };
  EXPECT_TRUE(has("fake,4,1,2,3,1,a.b@1:x=1,,\n"));
  EXPECT_TRUE(has("fake,4,1,2,3,,,,\nfake,4,1,2,3,1,a.b@1:x=1,mine,\n")) << "one row suffices";
  EXPECT_TRUE(has("")) << "a header alone is legal";
  for (const char* row :
       {"gfx942,4,1,2,3,1,a.b@1:x=1,,\n", "fake,8,1,2,3,1,a.b@1:x=1,,\n", "fake,4,1,2,3,inf,a.b@1:x=1,,\n",
        "fake,4,1,2,3,1,_ZN5aiter,,\n", "fake,4,1,2,3,1,a.b@1:x=1,other,\n", "fake,4,1,2,3,1,a.b@1:x=1,,tag\n"})
    EXPECT_FALSE(has(row)) << row;
}

TEST_F(NamedTable, ThatDoesNotExistIsSaid) {
  EXPECT_THAT(*check_named_table(folder_.path() / "gone.csv", family_, nullptr).why_not, HasSubstr("does not exist"));
}

}  // namespace
}  // namespace attune
