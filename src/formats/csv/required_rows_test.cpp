// SPDX-License-Identifier: MIT
// Rows that state a requirement, beside those that state none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/error.h"
#include "base/file.h"
#include "formats/csv/publish.h"
#include "formats/csv/table.h"
#include "formats/csv/table_diff.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::HasSubstr;

class RequiredRows : public testing::Test {
 protected:
  static PublishedRow row(const std::string& kernel, double us, Requirement stated) {
    PublishedRow row;
    row.problem = Problem::parse("gemm_a16w16 m=1 n=2 k=3 dtype=bf16 outdtype=bf16 bias=0");
    row.gfx = "g";
    row.num_units = 2;
    row.model = "cpu";
    row.require = stated;
    row.kernel_name = kernel;
    row.us = us;
    return row;
  }
  void publish_rows(std::vector<PublishedRow> rows) { publish(path_, family_, rows); }
  Table table() const { return Table::read(path_.string(), &family_); }
  std::string kernel_for(Requirement required) const {
    const Table read = table();
    const TableRow* found = read.find(row("", 1, Requirement::none).problem, "g", 2, "cpu", required);
    return found == nullptr ? "none" : found->kernel_name;
  }

  const FamilySpec& family_ = *find_family("gemm_a16w16");
  TestFolder folder_;
  std::filesystem::path path_ = folder_.path() / "bf16_tuned_gemm.csv";
};

TEST_F(RequiredRows, StandBesideTheOthersAndAreReplacedByTheirLike) {
  publish_rows({row("p.gemm@1:", 5, Requirement::none)});
  EXPECT_THAT(read_file(path_), testing::Not(HasSubstr("require"))) << "a table that needs no column has none";
  publish_rows({row("d.gemm@1:", 7, Requirement::deterministic)});
  publish_rows({row("b.gemm@1:", 9, Requirement::batch_invariant)});
  publish_rows({row("d2.gemm@1:", 8, Requirement::deterministic)});
  ASSERT_EQ(table().rows().size(), 3u);
  EXPECT_THAT(read_file(path_), HasSubstr(",device,layout,require\n"));
  EXPECT_EQ(kernel_for(Requirement::none), "p.gemm@1:");
  EXPECT_EQ(kernel_for(Requirement::deterministic), "d2.gemm@1:");
  EXPECT_EQ(kernel_for(Requirement::batch_invariant), "b.gemm@1:");
}

TEST_F(RequiredRows, AFasterOneDoesNotTakeTheRowOfThoseThatRequireNothing) {
  publish_rows({row("p.gemm@1:", 5, Requirement::none), row("d.gemm@1:", 1, Requirement::deterministic)});
  EXPECT_EQ(kernel_for(Requirement::none), "p.gemm@1:");
}

TEST_F(RequiredRows, ServesOthersIfItIsTheOnlyOne) {
  publish_rows({row("d.gemm@1:", 1, Requirement::deterministic)});
  EXPECT_EQ(kernel_for(Requirement::none), "d.gemm@1:");
  EXPECT_EQ(kernel_for(Requirement::batch_invariant), "none");
}

TEST_F(RequiredRows, AreNoRepetitionOfAKeyAndNoChangeOfTheOther) {
  publish_rows({row("p.gemm@1:", 5, Requirement::none)});
  const Table before = table();
  publish_rows({row("d.gemm@1:", 7, Requirement::deterministic)});
  const Table after = table();
  for (const std::string& notice : after.notices()) EXPECT_THAT(notice, testing::Not(HasSubstr("another row")));
  const TableDiff found = diff(before, after);
  EXPECT_EQ(found.added.size(), 1u);
  EXPECT_EQ(found.changed.size() + found.removed.size(), 0u);
}

TEST_F(RequiredRows, AnotherWordIsRefusedWithItsPlace) {
  const auto file = folder_.put("w.csv", "gfx,cu_num,M,N,K,us,kernelName,require\ng,2,1,2,3,1,p.gemm@1:,repeatable\n");
  try {
    Table::read(file.string(), &family_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("w.csv:2"));
    EXPECT_THAT(error.what(), HasSubstr("not 'repeatable'"));
  }
}

}  // namespace
}  // namespace attune
