// SPDX-License-Identifier: MIT
#include "dispatch/table/find_db_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "formats/csv/table.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using ::testing::HasSubstr;

constexpr const char* kForwardKey = "8-9-8-3x3-8-9-8-2-1x1-1x1-1x1-0-NCHW-FP32-F";
const DeviceInfo kHost{.id = "cpu:0", .kind = "host", .gfx = "x86-64-v4+bf16", .num_units = 2};

TEST(FindDbTable, ARowNamesTheFastestSolverOfAttuneOfItsLine) {
  const TestFolder folder;
  const auto file =
      folder.put("x86-64-v4+bf16_2.HOST.fdb.txt",
                 std::string("1-1-1-4x4-512-1-1-128-0x0-1x1-1x1-0-NCHW-FP32-W=a.conv:1,0,A\n") + kForwardKey +
                     "=ConvAsm1x1U:0.1,0,A;b.conv:0.3,0,A;a.conv:0.2,72,A;c.conv:0.0,0,A\n");
  const FindDbTable table = find_db_table(file, &kHost);
  EXPECT_EQ(table.num_rows, 1u) << "a key without a problem has no row";
  EXPECT_EQ(table.num_foreign, 1u);
  EXPECT_EQ(table.first_foreign, "ConvAsm1x1U");
  const Table rows = Table::of({find_db_document(file, &kHost)}, find_family("conv"));
  ASSERT_EQ(rows.rows().size(), 1u);
  const TableRow& row = rows.rows()[0];
  EXPECT_EQ(row.line, 2u) << "the line of its key";
  EXPECT_EQ(row.kernel_name, "a.conv@any:");
  EXPECT_EQ(row.gfx, "x86-64-v4+bf16");
  EXPECT_EQ(row.num_units, 2);
  EXPECT_DOUBLE_EQ(row.us.value_or(0), 200);
}

TEST(FindDbTable, ThePerfDbBesideItStatesTheConfig) {
  const TestFolder folder;
  folder.put("x_2.db.txt", "2x8x9x8x1x3x3x1x8x2x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF=a.conv:p=b.gemm@1:[m=4,n=8]\n");
  const auto file = folder.put("x_2.HOST.fdb.txt", std::string(kForwardKey) + "=a.conv:0.2,72,A\n");
  const Table rows = Table::of({find_db_document(file, nullptr)}, find_family("conv"));
  ASSERT_EQ(rows.rows().size(), 1u);
  EXPECT_EQ(rows.rows()[0].kernel_name, "a.conv@any:p=b.gemm@1:[m=4;n=8]");
}

TEST(FindDbTable, TheNameStatesTheDevice) {
  const TestFolder folder;
  const std::string line = std::string(kForwardKey) + "=a.conv:0.2,72,A\n";
  EXPECT_THAT(find_db_table(folder.put("gfx90a68.HIP.fdb.txt", line), &kHost).csv, HasSubstr("\ngfx90a,104,,"));
  EXPECT_THAT(find_db_table(folder.put("gfx1030_36.HIP.fdb.txt", line), &kHost).csv, HasSubstr("\ngfx1030,36,,"));
  try {
    find_db_table(folder.put("mine.txt", line), &kHost);
    ADD_FAILURE() << "nothing was refused";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("such as x86-64-v4+bf16_2, to serve as a table"));
  }
}

}  // namespace
}  // namespace attune
