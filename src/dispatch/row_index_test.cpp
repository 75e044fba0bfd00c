// SPDX-License-Identifier: MIT
#include "dispatch/row_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "dispatch/lookup.h"
#include "formats/csv/family_of_file.h"
#include "formats/csv/test_files.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const FamilySpec& family() { return *find_family("gemm_a16w16"); }

DeviceInfo device() {
  DeviceInfo info;
  info.gfx = "x86-64-v4";
  info.num_units = 2;
  info.model = "Some CPU";
  return info;
}

class RowIndexTest : public testing::Test {
 protected:
  RowIndex index(std::vector<std::string> contents) {
    std::vector<TableSource> files;
    for (size_t i = 0; i < contents.size(); ++i)
      files.push_back({folder_.put(fmt::format("t{}.csv", i), contents[i]), Origin::variable});
    return {codes_, std::move(files), device()};
  }
  std::string kernel(const RowIndex& index, const std::string& problem, std::string_view layout = {}) const {
    const auto codes = codes_.codes(Problem::parse(problem));
    const uint32_t row = index.find(codes_.hash(codes, KeyCodes::layout_code(layout)));
    return row == 0 ? "none" : std::string(index.kernel_name(index.row(row)));
  }

  KeyCodes codes_{family()};
  TemporaryFolder folder_;
};

constexpr const char* kHeader = "gfx,cu_num,M,N,K,dtype,us,kernelName\n";

TEST_F(RowIndexTest, FindsTheLowestTimeOfTheFirstFile) {
  const std::string two =
      "x86-64-v4,2,1,2,3,torch.float32,9,slow\nx86-64-v4,2,1,2,3,torch.float32,8,fast\n"
      "x86-64-v4,2,1,2,3,torch.float32,9,slow\n";
  const auto made = index({kHeader + two, kHeader + std::string("x86-64-v4,2,1,2,3,torch.float32,1,other\n"
                                                                "x86-64-v4,2,5,2,3,torch.float32,1,five\n")});
  EXPECT_EQ(kernel(made, "gemm_a16w16 m=1 n=2 k=3 dtype=fp32"), "fast");
  EXPECT_EQ(kernel(made, "gemm_a16w16 m=5 n=2 k=3 dtype=fp32"), "five");
  EXPECT_EQ(kernel(made, "gemm_a16w16 m=1 n=2 k=3 dtype=bf16"), "none");
  EXPECT_EQ(made.num_rows(), 2u);
  EXPECT_THAT(made.notices(), ElementsAre(HasSubstr("2 rows with the key of another: the lowest time wins; the first "
                                                    "is in line 3")));
}

TEST_F(RowIndexTest, LeavesOutWhatDoesNotServeThisDevice) {
  const auto made =
      index({"gfx,cu_num,M,N,K,us,kernelName,device,_tag\n"
             "x86-64-v3,2,1,2,3,1,gfx,,\n"
             "x86-64-v4,4,1,2,3,1,units,,\n"
             "x86-64-v4,2,1,2,3,1,model,Another CPU,\n"
             "x86-64-v4,2,1,2,3,1,tag,,flydsl\n"
             "x86-64-v4,2,1,2,3,inf,time,,\n"
             "x86-64-v4,2,1,2,3,0,time,,\n"
             "x86-64-v4,2,1,2,3,7,ours,Some CPU,\n"});
  EXPECT_EQ(kernel(made, "gemm_a16w16 m=1 n=2 k=3"), "ours");
  EXPECT_EQ(made.num_rows(), 1u);
  EXPECT_THAT(made.notices(), IsEmpty());
}

TEST_F(RowIndexTest, AWrongRowOrFileIsSaidAndTheRestServes) {
  const auto made = index({kHeader + std::string("x86-64-v4,2,many,2,3,fp32,1,a\nx86-64-v4,2,1,2,3,fp32,1,b\n"),
                           "M,N\n1,2\n", kHeader + std::string("x86-64-v4,2,7,2,3,fp32,1,c\n")});
  EXPECT_EQ(kernel(made, "gemm_a16w16 m=1 n=2 k=3 dtype=fp32"), "b");
  EXPECT_EQ(kernel(made, "gemm_a16w16 m=7 n=2 k=3 dtype=fp32"), "c");
  EXPECT_THAT(made.notices(),
              ElementsAre(HasSubstr("1 row that cannot be read: left out; the first is in line 2"),
                          testing::AllOf(HasSubstr("a table is left out"), HasSubstr("the column 'K' is missing"))));
  const uint32_t row = made.find(codes_.hash(codes_.codes(Problem::parse("gemm_a16w16 m=7 n=2 k=3 dtype=fp32"))));
  EXPECT_THAT(made.where(made.row(row)), testing::EndsWith("t2.csv:2"));
}

TEST_F(RowIndexTest, RowsOfPackedWeightsAreFoundByTheirLayout) {
  const auto made =
      index({"gfx,cu_num,M,N,K,bpreshuffle,us,kernelName,layout\n"
             "x86-64-v4,2,1,2,3,True,4,k16,host.k16.v1\n"
             "x86-64-v4,2,1,2,3,True,2,mkl,mkl.pack@1\n"
             "x86-64-v4,2,1,2,3,False,2,plain,plain\n"});
  EXPECT_EQ(kernel(made, "gemm_a16w16 m=1 n=2 k=3 bpreshuffle=1", "host.k16.v1"), "k16");
  EXPECT_EQ(kernel(made, "gemm_a16w16 m=1 n=2 k=3 bpreshuffle=1", "mkl.pack@1"), "mkl");
  EXPECT_EQ(kernel(made, "gemm_a16w16 m=1 n=2 k=3 bpreshuffle=1"), "none");
  EXPECT_EQ(kernel(made, "gemm_a16w16 m=1 n=2 k=3"), "plain");
}

TEST_F(RowIndexTest, AnEmptyOneFindsNothing) { EXPECT_EQ(kernel(index({}), "gemm_a16w16 m=1 n=2 k=3"), "none"); }

/// The row that each finds for a problem, by its line and kernel.
void expect_same(const Table& table, const RowIndex& index, const KeyCodes& codes, const DeviceInfo& here,
                 const Problem& problem) {
  const TableRow* wanted = table.find(problem, here.gfx, here.num_units, here.model);
  const uint32_t number = index.find(codes.hash(codes.codes(problem)));
  ASSERT_EQ(number == 0, wanted == nullptr) << problem.key();
  if (number == 0) return;
  const RowIndex::Row* got = &index.row(number);
  // Of two rows with the same lowest time either will do.
  EXPECT_FLOAT_EQ(got->us, static_cast<float>(wanted->us.value())) << problem.key();
  if (wanted->line == got->line) {
    EXPECT_EQ(index.kernel_name(*got), wanted->kernel_name);
  }
}

TEST(RowIndexProperty, AgreesWithTheTableOverAllRowsOfTheRealTables) {
  const auto files = shipped_tables();
  if (files.empty()) GTEST_SKIP() << "the folder of real tables is not here";
  size_t num_rows = 0, num_files = 0;
  Random random(1);
  for (const auto& file : files) {
    const std::string name = file.filename().string();
    const FamilySpec* spec = family_of_name(name);
    if (spec == nullptr || name.find("untuned") != std::string::npos) continue;
    std::optional<Table> table;
    try {
      table = Table::read(file.string(), spec);
    } catch (const Error&) {
      continue;  // A family with the same words in its name.
    }
    const KeyCodes codes(*spec);
    for (const auto& [gfx, units] :
         {std::pair<const char*, int64_t>{"gfx942", 304}, {"gfx942", 80}, {"gfx950", 256}, {"gfx1250", 256}}) {
      DeviceInfo here;
      here.gfx = gfx;
      here.num_units = units;
      const RowIndex index(codes, {{file, Origin::model}}, here);
      for (const TableRow& row : table->rows()) {
        expect_same(*table, index, codes, here, row.problem);
        if (!row.problem.has("m")) continue;
        expect_same(*table, index, codes, here, row.problem.with("m", std::to_string(1 + random.below(20000))));
        ++num_rows;
      }
    }
    ++num_files;
  }
  EXPECT_GT(num_files, 20u);
  EXPECT_GT(num_rows, 10000u);
}

}  // namespace
}  // namespace attune
