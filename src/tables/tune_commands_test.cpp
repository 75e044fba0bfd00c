// SPDX-License-Identifier: MIT
#include "tables/tune_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "process/temporary_folder.h"
#include "testing/table_values.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class TuneCommands : public testing::Test {
 protected:
  TuneCommands() { write_file_atomically(list(), "M,N,K\n1,2,3\n"); }
  fs::path list() const { return folder_.path() / "bf16_untuned_gemm.csv"; }
  std::vector<std::string> commands(const std::vector<fs::path>& captures, const std::string& device = "") const {
    return tune_commands(test_family(), {captures, std::span(&table_, 1), device});
  }
  TemporaryFolder folder_{"tune_commands_test"};
  Table table_ = test_table({test_document("it's mine.csv", {test_row(1, "1")})});
};

TEST_F(TuneCommands, OneListIsTunedAsItIs) {
  const auto tune = fmt::format("attune tune -i {} --op gemm_a16w16 -o 'it'\\''s mine.csv'", list().string());
  EXPECT_THAT(commands({list()}), ElementsAre(tune));
  EXPECT_THAT(commands({folder_.path()}), ElementsAre(tune));
  EXPECT_THAT(commands({list()}, "cpu:0"), ElementsAre(tune + " --devices cpu:0"));
  EXPECT_THAT(commands({list()}, "fake:0"), ElementsAre(tune + " --devices fake:0"));
}

TEST_F(TuneCommands, SeveralListsOrCountsAloneAreMergedFirst) {
  EXPECT_THAT(
      commands({list(), "a b"}),
      ElementsAre("attune capture merge -o bf16_untuned_gemm.csv --op gemm_a16w16 " + list().string() + " 'a b'",
                  "attune tune -i bf16_untuned_gemm.csv --op gemm_a16w16 -o 'it'\\''s mine.csv'"));
  fs::remove(list());
  EXPECT_EQ(commands({folder_.path()}).size(), 2u);
}

TEST_F(TuneCommands, FamiliesWithoutANamedTableGoToTheirDefaultFile) {
  const Table other =
      Table::of({CsvDocument::parse("gfx,cu_num,M,N,K,q_dtype_w,us,kernelName\n", "o.csv")}, find_family("gemm_a8w8"));
  const std::vector<fs::path> captures = {list()};
  EXPECT_EQ(tune_commands(test_family(), {captures, std::span(&other, 1), ""}),
            std::vector{fmt::format("attune tune -i {} --op gemm_a16w16 -o bf16_tuned_gemm.csv", list().string())});
}

TEST_F(TuneCommands, EachFamilyThatCanBeTunedIsTunedOnce) {
  const std::vector<fs::path> captures = {list()};
  const std::vector<CalledShape> shapes = {
      {Problem::parse("fmoe token=1"), 1}, {table_problem(1), 1}, {table_problem(2), 1}};
  EXPECT_EQ(tune_commands(shapes, {captures, std::span(&table_, 1), {}}), commands({list()}));
}

}  // namespace
}  // namespace attune
