// SPDX-License-Identifier: MIT
#include "tables/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "process/temporary_folder.h"
#include "testing/environment.h"
#include "testing/table_values.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kOp = "gemm_a16w16";

TEST(Merge, HoldsTheRowThatTheRunTimeWouldUseInTheOrderOfTheFiles) {
  const Merge merge(test_table({test_document("a.csv", {test_row(2, "nan"), test_row(1, "3"), test_row(1, "2")}),
                                test_document("b.csv", {test_row(1, "1"), test_row(2, "4")})}));
  EXPECT_EQ(merge.text(), test_text({test_row(1, "2"), test_row(2, "4")}));
  EXPECT_EQ(merge.rows().size(), 5u);
}

TEST(Merge, ColumnsOfTheFirstFileComeFirstAndKeysAreFilledIn) {
  auto old = CsvDocument::parse("cu_num,M,N,K,us,kernelName,note\r\n304,1,64,64,2,k,\"x, y\"\r\n", "old.csv");
  const Merge merge(test_table({std::move(old), test_document("b.csv", {test_row(1, "1") + ",z"}, ",NOTE")}));
  // The key of the old row is bf16; its missing cells would be read as another key if they were empty.
  EXPECT_EQ(merge.text(),
            "cu_num,M,N,K,us,kernelName,note,gfx,bias,dtype,outdtype,scaleAB,bpreshuffle\r\n"
            "304,1,64,64,2,k,\"x, y\",gfx942,False,torch.bfloat16,torch.bfloat16,False,False\r\n"
            "4,1,64,64,1,known.gemm@1:a=1,z,fake,False,torch.float32,torch.float32,False,False\r\n");
}

TEST(Merge, AMovedMergeStillReportsItsOwnRows) {
  Merge first(test_table({test_document("a.csv", {test_row(1, "2")})}));
  const Merge second = std::move(first);
  EXPECT_EQ(second.rows().front().row, second.table().rows().data());
}

TEST(Merge, RowsOfNoModelThatWouldBeatRowsOfAModelAreCounted) {
  const auto notices = [](std::string_view us) {
    return Merge(test_table({test_document("a.csv", {test_row(1, "8") + ",A", test_row(1, "9") + ",B"}, ",device"),
                             test_document("b.csv", {test_row(1, us) + ","}, ",device")}))
        .notices();
  };
  EXPECT_THAT(notices("8.5"), ElementsAre(HasSubstr("1 row without a device model: slower rows")));
  EXPECT_THAT(notices("9"), IsEmpty());
}

class MergeFiles : public testing::Test {
 protected:
  std::string put(const std::string& name, const std::string& text) const {
    write_file_atomically(folder_.path() / name, text);
    return (folder_.path() / name).string();
  }
  fs::path path(const std::string& name) const { return folder_.path() / name; }
  /// Returns the error of a merge of `named` into `output`.
  std::string refusal(const std::vector<std::string>& named, const fs::path& output) const {
    try {
      read_merge(named, kOp, output);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input);
      return error.what();
    }
    return "";
  }
  TemporaryFolder folder_{"merge_test"};
};

TEST_F(MergeFiles, AMergeMayReplaceAnotherTableOfTheFamily) {
  const auto a = put("a.csv", test_text({test_row(1, "2")}));
  const auto b = put("b.csv", test_text({test_row(1, "1"), test_row(2, "3")}));
  put("m.csv", test_text({test_row(9, "9")}));
  write_merge(read_merge(std::vector{a + ":" + b}, kOp, path("m.csv")), path("m.csv"));
  EXPECT_EQ(read_file(path("m.csv")), test_text({test_row(1, "2"), test_row(2, "3")}));
}

TEST_F(MergeFiles, WithoutAnOutputTheMergedTableOfTheFamilyIsWritten) {
  const TestEnvironment cache("ATTUNE_CACHE", path("cache").string());
  const auto input = put("a.csv", test_text({test_row(1, "2")}));
  for (int time = 0; time < 2; ++time) {
    const Merge merge = read_merge(std::vector{input}, kOp, "");
    write_merge(merge, merged_table(merge.table().family()));
    EXPECT_EQ(read_file(path("cache/merged/bf16_tuned_gemm.csv")), test_text({test_row(1, "2")}));
  }
  put("cache/merged/bf16_tuned_gemm.csv", "name\nmine\n");
  EXPECT_THAT(refusal({input}, ""), HasSubstr("bf16_tuned_gemm.csv"));
}

TEST_F(MergeFiles, AWrongInputIsRefused) {
  const auto good = put("a.csv", test_text({test_row(1, "2")}));
  const auto wrong = put("wrong.csv", test_text({test_row(1, "2"), "fake,4,x"}));
  EXPECT_THAT(refusal({good, wrong}, path("m.csv")), HasSubstr("wrong.csv:3"));
  EXPECT_THAT(refusal({put("slow.csv", test_text({test_row(1, "0")}))}, path("m.csv")), HasSubstr("nothing to merge"));
  EXPECT_THAT(refusal({good, put("shapes.csv", "M,N,K\n1,2,3\n")}, path("m.csv")), HasSubstr("shapes.csv"));
}

TEST_F(MergeFiles, AnOutputThatWouldBeLostIsRefused) {
  const auto input = put("a.csv", test_text({test_row(1, "2")}));
  fs::create_hard_link(input, path("same.csv"));
  EXPECT_THAT(refusal({input}, path("same.csv")), HasSubstr("one of the tables that are read"));
  EXPECT_THAT(refusal({input}, put("notes.csv", "name\nmine\n")), HasSubstr("notes.csv"));
  EXPECT_THAT(refusal({input}, put("shapes.csv", "M,N,K\n1,2,3\n")),
              HasSubstr("shapes.csv:1: the file has no column 'us'"));
  EXPECT_THAT(refusal({input}, put("times.csv", "name,us\nmine,1\n")), HasSubstr("not a table of gemm_a16w16"));
  EXPECT_THAT(refusal({input}, path("no/m.csv")), HasSubstr("no"));
  EXPECT_EQ(refusal({input}, put("empty.csv", "")), "");
}

}  // namespace
}  // namespace attune
