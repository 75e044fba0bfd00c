// SPDX-License-Identifier: MIT
#include "tables/passed_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tables/row_status.h"
#include "testing/table_values.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class PassedRows : public testing::Test {
 protected:
  /// Returns the rows that a lookup of M = 1 passes over, as `place: why`.
  std::vector<std::string> passed(std::vector<CsvDocument> documents, Requirement required = Requirement::none) {
    TableSet set;
    set.require = required;
    set.tables.push_back(test_table(std::move(documents)));
    const TableLookup lookup(set, device_);
    const KernelCheck usable = [](const Candidate& candidate) {
      return candidate.solver == "nobody.gemm" ? std::optional<std::string>("nobody has it") : std::nullopt;
    };
    std::vector<std::string> texts;
    for (const PassedRow& one :
         passed_rows(set.tables[0], lookup.find(table_problem(1), usable), device_, required, usable))
      texts.push_back(fmt::format("{}: {}", place_of(set.tables[0], *one.row), one.why));
    return texts;
  }
  DeviceInfo device_ = table_device();
};

TEST_F(PassedRows, SayWhyNoStepTriedThem) {
  device_.model = "A";
  const auto texts =
      passed({test_document("a.csv",
                            {test_row(1, "3") + ",,,,", test_row(1, "2") + ",,,,", test_row(1, "soon") + ",,,,",
                             test_row(1, "1") + ",B,,,", test_row(1, "1") + ",,slow_boot,,",
                             test_row(1, "1") + ",,,wibble,", test_row(2, "banana") + ",,,,"},
                            ",device,_tag,layout,require"),
              test_document("b.csv", {test_row(1, "1")})});
  EXPECT_THAT(
      texts,
      ElementsAre("a.csv:2: is slower than another row of its file: a.csv:3 wins, 2 µs",
                  "a.csv:4: has no usable time: column 'us' expects a time in µs from 1e-09 to 1e+18, got 'soon'",
                  "a.csv:5: is of another model: B", "a.csv:6: has a _tag: slow_boot",
                  "a.csv:7: its kernel reads weights in the layout 'plain', not in 'wibble', which is no "
                  "known layout",
                  "b.csv:2: is shadowed by an earlier file: a.csv:3 wins, 2 µs"));
}

TEST_F(PassedRows, AreListedWhenNoRowServes) {
  EXPECT_THAT(passed({test_document("a.csv", {test_row(1, "1") + ",wibble"}, ",layout")}),
              ElementsAre(HasSubstr("a.csv:2: its kernel reads weights in the layout 'plain', not in 'wibble'")));
  EXPECT_THAT(passed({test_document("a.csv", {test_row(1, "1")})}, Requirement::deterministic),
              ElementsAre("a.csv:2: does not state what is required"));
  const std::vector<std::string> rows = {test_row(2, "1") + ",batch-invariant",
                                         test_row(1, "1", "known.gemm@1:a=2") + ",batch-invariant"};
  EXPECT_THAT(passed({test_document("a.csv", rows, ",require")}, Requirement::batch_invariant),
              ElementsAre("a.csv:3: names another kernel than the first row of its weight: a.csv:2"));
}

TEST_F(PassedRows, ARowThatAStepTriedIsNone) {
  EXPECT_THAT(passed({test_document("a.csv", {test_row(1, "1", "nobody.gemm@1:a=1")})}), IsEmpty());
}

}  // namespace
}  // namespace attune
