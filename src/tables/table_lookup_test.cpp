// SPDX-License-Identifier: MIT
#include "tables/table_lookup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "process/temporary_folder.h"
#include "tables/row_status.h"
#include "testing/environment.h"
#include "testing/table_values.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::optional<std::string> is_usable(const Candidate&) { return std::nullopt; }

/// Returns the place of the row that the lookup finds; empty: none.
std::string found(const TableLookup& lookup, const Problem& problem) {
  const LookupResult result = lookup.find(problem, is_usable);
  return result.row ? place_of(*result.table, *result.row) : "";
}

TEST(TableLookup, TheFirstTableOfTheOpWithARowServes) {
  TableSet set;
  set.tables.push_back(Table::of({CsvDocument::parse("gfx,cu_num,M,N,K,q_dtype_w,us,kernelName\n", "other.csv")},
                                 find_family("gemm_a8w8")));
  set.tables.push_back(test_table({test_document("a.csv", {test_row(1, "9")})}));
  set.tables.push_back(test_table({test_document("b.csv", {test_row(1, "1"), test_row(500, "1")})}));
  const DeviceInfo device = table_device();
  const TableLookup lookup(set, device);
  EXPECT_EQ(found(lookup, table_problem(1)), "a.csv:2");
  EXPECT_EQ(found(lookup, table_problem(500)), "b.csv:3");
  EXPECT_EQ(found(lookup, Problem::parse("gemm_a8w8 m=1 n=64 k=64")), "");
}

TEST(TableLookup, TheSetBoundsPredictions) {
  TableSet set;
  set.tables.push_back(test_table({test_document("a.csv", {test_row(16, "1")})}));
  const DeviceInfo device = table_device();
  EXPECT_EQ(found(TableLookup(set, device), table_problem(18)), "");
  set.max_regret = 10;
  EXPECT_EQ(found(TableLookup(set, device), table_problem(18)), "a.csv:2");
}

/// Returns the steps of a lookup as `match m=16: remark`.
std::vector<std::string> steps(const TableLookup& lookup, const Problem& problem, const KernelCheck& usable) {
  std::vector<std::string> texts;
  for (const LookupStep& step : lookup.find(problem, usable).steps)
    texts.push_back(fmt::format("{} m={}: {}", name(step.match), step.key.text("m"), step.remark));
  return texts;
}

TEST(TableLookup, EachStepSaysWhyItsRowDoesNotServe) {
  TableSet set;
  set.max_regret = 1;
  set.tables.push_back(
      test_table({test_document("a.csv", {test_row(16, "5"), test_row(64, "5", "_ZN5aiter"), test_row(512, "5")})}));
  const DeviceInfo device = table_device();
  const TableLookup lookup(set, device);
  EXPECT_THAT(steps(lookup, table_problem(9), is_usable), ElementsAre("exact m=9: no row", "padded_fine m=16: "));
  EXPECT_THAT(steps(lookup, table_problem(40), is_usable),
              ElementsAre("exact m=40: no row", "padded_fine m=48: no row",
                          "padded_coarse m=64: this program has no such kernel: '_ZN5aiter'",
                          "predicted m=64: this program has no such kernel: '_ZN5aiter'",
                          "predicted m=16: the bound is above ATTUNE_MAX_REGRET"));
  const auto refuse = [](const Candidate&) { return "its library is another version"; };
  EXPECT_THAT(steps(lookup, table_problem(16), refuse),
              ElementsAre("exact m=16: its library is another version", HasSubstr("predicted")));
}

TEST(TableLookup, ARowThatNamesAnotherLayoutThanItsKernelReadsServesNobody) {
  TableSet set;
  const std::string packed = "fake,4,1,64,64,False,torch.float32,torch.float32,False,True,1,";
  set.tables.push_back(test_table({test_document(
      "a.csv", {packed + "known.gemm@1:a=1,wibble", packed + "known.gemm@1:b_layout=host.k16.v1,host.k16.v1"},
      ",layout")}));
  const DeviceInfo device = table_device();
  const TableLookup lookup(set, device);
  const Problem problem = table_problem(1).with("bpreshuffle", "1");
  EXPECT_EQ(found(lookup, problem), "a.csv:3");
  EXPECT_THAT(steps(lookup, problem, is_usable),
              testing::Contains(HasSubstr("not in 'wibble', which is no known layout")));
}

TEST(TableSet, NamedTablesAreReadWithTheirNoticesBeforeTheVariables) {
  static constexpr const char* kVariables[] = {"ATTUNE_MAX_REGRET"};
  const TestEnvironment environment(kVariables);
  const TemporaryFolder folder("table_set_test");
  const std::string file = (folder.path() / "mine.csv").string();
  write_file_atomically(file, test_text({test_row(1, "0") + ",A"}, ",device"));
  EXPECT_THAT(read_table_set(std::vector{file}, "gemm_a16w16", {}).notices,
              ElementsAre(HasSubstr("1 row without a usable time")));
  ::setenv("ATTUNE_MAX_REGRET", "much", 1);
  const TableSet set = read_table_set(std::vector{file}, "gemm_a16w16", {});
  EXPECT_EQ(set.tables.size(), 1u);
  EXPECT_THAT(set.notices, ElementsAre(HasSubstr("mine.csv"), HasSubstr("ATTUNE_MAX_REGRET")));
  ::setenv("ATTUNE_MAX_REGRET", "0.25", 1);
  EXPECT_EQ(read_table_set({}, "", {}).max_regret, 0.25);
  EXPECT_THROW(read_table_set(std::vector{file + ".gone"}, "gemm_a16w16", {}), Error);
}

}  // namespace
}  // namespace attune
