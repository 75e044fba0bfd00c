// SPDX-License-Identifier: MIT
#include "tables/near_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view kHeader = "gfx,cu_num,M,N,K,bias,dtype,outdtype,us,kernelName\n";

/// Lines of the rows near `m`×64×64 fp32, nearest first.
std::vector<size_t> near(const std::string& rows, int m, size_t max_count = 5) {
  std::vector<CsvDocument> documents;
  documents.push_back(CsvDocument::parse(std::string(kHeader) + rows, "bf16_tuned_gemm.csv"));
  const Table table = Table::of(std::move(documents));
  const auto problem =
      Problem::parse("gemm_a16w16 m=" + std::to_string(m) + " n=64 k=64 dtype=fp32 outdtype=fp32 bias=0");
  DeviceInfo device;
  device.gfx = "g";
  device.num_units = 2;
  std::vector<size_t> lines;
  for (const TableRow* row : near_rows(table, problem, device, max_count)) lines.push_back(row->line);
  return lines;
}

std::string row(int m, int n = 64, const std::string& dtype = "fp32", const std::string& gfx = "g", int bias = 0) {
  return gfx + ",2," + std::to_string(m) + "," + std::to_string(n) + ",64," + std::to_string(bias) + "," + dtype + "," +
         dtype + ",5,k\n";
}

TEST(NearRows, OtherMsComeFirstByTheirRatio) {
  EXPECT_THAT(near(row(1000) + row(128) + row(40), 64), ElementsAre(4u, 3u, 2u));
}

TEST(NearRows, TheSameShapeOfAnotherTypeOrFlagComesAfter) {
  EXPECT_THAT(near(row(64, 64, "bf16") + row(64, 64, "fp32", "g", 1) + row(4096), 64), ElementsAre(4u, 3u, 2u));
}

TEST(NearRows, OtherShapesDevicesAndTheRowItselfAreNotNear) {
  EXPECT_THAT(near(row(64, 128) + row(32, 64, "fp32", "h") + row(64) + row(32, 64, "bf16"), 64), IsEmpty());
}

TEST(NearRows, TheListIsShort) {
  std::string rows;
  for (int m = 1; m <= 20; ++m) rows += row(m);
  EXPECT_THAT(near(rows, 64), ElementsAre(21u, 20u, 19u, 18u, 17u));
}

}  // namespace
}  // namespace attune
