// SPDX-License-Identifier: MIT
#include "tables/summary/kept_summaries.h"

#include <gmock/gmock.h>

#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "testing/environment.h"
#include "testing/table_values.h"
#include "testing/test_files.h"

namespace attune {
namespace {

class KeptSummariesTest : public testing::Test {
 protected:
  KeptSummariesTest() { write({test_row(1, "2")}); }
  void write(const std::vector<std::string>& rows) const { write_file_atomically(file_, test_text(rows)); }
  /// What asking for the rows throws; empty for nothing.
  static std::string refusal(KeptSummaries& kept) {
    try {
      static_cast<void>(kept.rows());
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

  const TestFolder folder_;
  const TestEnvironment home_{"ATTUNE_HOME", folder_.path().string()};
  const std::filesystem::path file_ = folder_.path() / "t.csv";
};

TEST_F(KeptSummariesTest, AreReadAgainWhenAFileIsWrittenOrReplaced) {
  KeptSummaries kept({file_.string()});
  const auto first = kept.rows();
  EXPECT_EQ(first->rows.size(), 1u);
  EXPECT_EQ(kept.rows(), first);
  write({test_row(1, "3")});  // Another file of the same size.
  const auto second = kept.rows();
  EXPECT_NE(second, first);
  EXPECT_EQ(second->rows.front().us, 3);
  std::ofstream(file_, std::ios::app) << test_row(2, "2") << "\n";
  EXPECT_EQ(kept.rows()->rows.size(), 2u);
  std::filesystem::create_directory(folder_.path() / "overlay");
  write_file_atomically(folder_.path() / "overlay/banned.csv", "candidate,device,problem,reason\nknown.gemm,,,no\n");
  EXPECT_FALSE(kept.rows()->rows.front().is_taken) << "its kernel is banned";
}

TEST_F(KeptSummariesTest, TablesBeyondTheLimitAreASentence) {
  const uint64_t size = std::filesystem::file_size(file_);
  KeptSummaries kept({file_.string()}, size);
  EXPECT_EQ(refusal(kept), "");
  write({test_row(1, "2"), test_row(2, "2")});
  EXPECT_THAT(refusal(kept), testing::HasSubstr("the largest is '" + file_.string() + "'"));
  EXPECT_THAT(refusal(kept), testing::HasSubstr("at most")) << "what failed is said again";
  write({test_row(1, "2")});
  EXPECT_EQ(kept.rows()->rows.size(), 1u);
}

}  // namespace
}  // namespace attune
