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
  EXPECT_THAT(commands({list()}, "cpu:0"), ElementsAre(tune));
  EXPECT_THAT(commands({list()}, "fake:0"), ElementsAre(tune + " --devices fake:0"));
}

TEST_F(TuneCommands, SeveralListsOrCountsAloneAreMergedFirst) {
  EXPECT_THAT(commands({"a b", list()}),
              ElementsAre("attune capture merge -o bf16_untuned_gemm.csv --op gemm_a16w16 'a b' " + list().string(),
                          "attune tune -i bf16_untuned_gemm.csv --op gemm_a16w16 -o 'it'\\''s mine.csv'"));
  fs::remove(list());
  EXPECT_EQ(commands({folder_.path()}).size(), 2u);
}

TEST_F(TuneCommands, FamiliesWithoutANamedTableGoToTheirDefaultFile) {
  const std::vector<fs::path> captures = {list(), list()};
  const auto all = tune_commands(std::vector<CalledShape>{{Problem::parse("fmoe token=1"), 1},
                                                          {Problem::parse("gemm_a8w8 m=1 n=2 k=3"), 1},
                                                          {table_problem(1), 1},
                                                          {table_problem(2), 1}},
                                 {captures, std::span(&table_, 1), ""});
  // In the order of the families; fmoe cannot be tuned.
  ASSERT_EQ(all.size(), 4u);
  EXPECT_THAT(all[1], testing::EndsWith("--op gemm_a16w16 -o 'it'\\''s mine.csv'"));
  EXPECT_THAT(all[3], testing::EndsWith("--op gemm_a8w8 -o a8w8_tuned_gemm.csv"));
}

}  // namespace
}  // namespace attune
