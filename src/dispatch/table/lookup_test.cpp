// SPDX-License-Identifier: MIT
#include "dispatch/table/lookup.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "dispatch/table/padding.h"
#include "dispatch/table/table_groups.h"

namespace attune {
namespace {

class Lookup : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "/lookup_" + std::to_string(getpid()) + "_bf16_tuned_gemm.csv";
    std::ofstream(path_)
        << "gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle,libtype,solidx,splitK,us,kernelName,err_ratio,"
           "tflops,bw\n"
           "x86-64-v4,2,16,64,64,False,torch.float32,torch.float32,False,False,onednn,-1,1,5.0,onednn.gemm@1+2.6.3:"
           "impl=a;threads=2,0,1,1\n"
           "x86-64-v4,2,64,64,64,False,torch.float32,torch.float32,False,False,asm,-1,1,5.0,_ZN5aiter,0,1,1\n"
           "gfx942,304,32,64,64,False,torch.float32,torch.float32,False,False,asm,-1,1,5.0,_ZN5aiter,0,1,1\n";
    device_.gfx = "x86-64-v4";
    device_.num_units = 2;
  }
  LookupResult look(
      int64_t m, const RowCheck& usable = [](const Candidate&) { return std::nullopt; }) {
    const Table table = Table::read(path_);
    const auto problem =
        Problem::parse("gemm_a16w16 m=" + std::to_string(m) + " n=64 k=64 dtype=fp32 outdtype=fp32 bias=0");
    auto result = look_up(table, problem, device_, usable);
    line_ = result.row ? result.row->line : 0;  // The table is destroyed here.
    result.row = nullptr;
    return result;
  }
  std::string path_;
  DeviceInfo device_;
  size_t line_ = 0;
};

}  // namespace

TEST(Padding, FollowsTheLadder) {
  EXPECT_EQ(padded_m_fine(1), 16);
  EXPECT_EQ(padded_m_fine(256), 256);
  EXPECT_EQ(padded_m_fine(257), 288);
  EXPECT_EQ(padded_m_fine(1025), 1088);
  EXPECT_EQ(padded_m_fine(4097), 4224);
  EXPECT_EQ(padded_m_coarse(1, 1), 1);
  EXPECT_EQ(padded_m_coarse(9000, 4096), 16384);
  EXPECT_EQ(padded_m_coarse(9000, 4097), 8192);
}

TEST_F(Lookup, TakesTheExactRowFirst) {
  EXPECT_EQ(look(16).match, Match::exact);
  EXPECT_EQ(line_, 2u);
}
TEST_F(Lookup, PadsWhenThereIsNoExactRow) { EXPECT_EQ(look(9).match, Match::padded_fine); }
TEST_F(Lookup, PadsWhatTheFamilySaysAndNothingElse) {
  std::vector<std::string> padded;
  for (const FamilySpec& family : families()) {
    if (family.pads_m) padded.emplace_back(family.op);
  }
  EXPECT_EQ(padded,
            (std::vector<std::string>{"gemm_a16w16", "gemm_a8w8", "gemm_a8w8_bpreshuffle", "gemm_a8w8_blockscale",
                                      "gemm_a8w8_blockscale_bpreshuffle", "gemm_a4w4_blockscale"}));
  const std::string path = testing::TempDir() + "/lookup_" + std::to_string(getpid()) + "_bf16_tuned_batched_gemm.csv";
  std::ofstream(path) << "gfx,cu_num,B,M,N,K,kernelId,splitK,us,kernelName,tflops,bw,errRatio\n"
                         "x86-64-v4,2,3,16,64,64,-1,1,5.0,onednn.gemm@1:impl=a,1,1,0\n";
  const Table table = Table::read(path);
  const auto look_up_m = [&](const std::string& m) {
    return look_up(table, Problem::parse("batched_gemm_bf16 batch=3 m=" + m + " n=64 k=64"), device_,
                   [](const Candidate&) { return std::nullopt; });
  };
  EXPECT_EQ(look_up_m("16").match, Match::exact);
  EXPECT_EQ(look_up_m("9").match, Match::fallback);
  EXPECT_EQ(look_up_m("9").steps.size(), 1u);
}
TEST_F(Lookup, FallsThroughARowWithAForeignKernel) {
  const auto result = look(64);
  EXPECT_EQ(result.match, Match::fallback);
  ASSERT_EQ(result.steps.size(), 1u);  // M = 64 pads to itself.
  EXPECT_NE(result.steps[0].remark.find("_ZN5aiter"), std::string::npos);
}
TEST_F(Lookup, NamesThePredictionsThatAreNotAllowed) {
  const Table table = Table::read(path_);
  const auto problem = Problem::parse("gemm_a16w16 m=40 n=64 k=64 dtype=fp32 outdtype=fp32 bias=0");
  const auto steps_with = [&](double max_regret) {
    const TableGroups groups(table, device_, max_regret);
    const auto result = look_up(
        table, problem, device_, [](const Candidate&) { return std::nullopt; }, &groups);
    EXPECT_EQ(result.match, max_regret < 2 ? Match::fallback : Match::predicted);
    return result.steps;
  };
  // The row of M = 64 names a foreign kernel; the one of M = 16 has a bound of 2.
  const auto steps = steps_with(1);
  ASSERT_EQ(steps.size(), 5u);
  EXPECT_NE(steps[3].remark.find("_ZN5aiter"), std::string::npos);
  EXPECT_EQ(steps[4].regret_bound, 2);
  EXPECT_EQ(steps[4].remark, "the bound is above ATTUNE_MAX_REGRET");
  EXPECT_EQ(steps_with(2).back().remark, "");
  EXPECT_EQ(steps_with(0).size(), 3u);
}
TEST_F(Lookup, PredictsPackedWeightsFromTheRowsOfEachLayout) {
  const auto row = [](int m, const std::string& layout, double us) {
    return fmt::format("x86-64-v4,2,{},64,64,False,torch.float32,torch.float32,True,{},a@1:x=1,{}\n", m, us, layout);
  };
  const Table table = Table::of(
      {CsvDocument::parse("gfx,cu_num,M,N,K,bias,dtype,outdtype,bpreshuffle,us,kernelName,layout\n" +
                              row(300, "p.v1", 10) + row(400, "p.v1", 10.5) + row(300, "q.v1", 8) + row(400, "", 30),
                          "bf16_tuned_gemm.csv")});
  const TableGroups groups(table, device_, 10);
  const auto predicted = [&](const char* packed) {
    std::vector<std::string> rows;
    const auto problem = Problem::parse(
        fmt::format("gemm_a16w16 m=350 n=64 k=64 dtype=fp32 outdtype=fp32 bias=0 bpreshuffle={}", packed));
    for (const auto& one : groups.predict(problem))
      rows.push_back(fmt::format("{}:{}", one.row->layout, one.row->line));
    return rows;
  };
  // The nearer row of each layout, smaller bounds first; then the other rows.
  EXPECT_EQ(predicted("1"), (std::vector<std::string>{"p.v1:3", ":5", "q.v1:4", "p.v1:2"}));
  EXPECT_EQ(predicted("0"), std::vector<std::string>());
}
TEST_F(Lookup, SkipsRowsOfOtherDevices) { EXPECT_EQ(look(32).match, Match::fallback); }
TEST_F(Lookup, SkipsARowTheCallerCannotRun) {
  EXPECT_EQ(look(16, [](const Candidate&) { return "its library is another version"; }).match, Match::fallback);
}

}  // namespace attune
