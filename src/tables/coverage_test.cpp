// SPDX-License-Identifier: MIT
#include "tables/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/table_values.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

/// Supports all problems but those of M = 7.
class KnownSolver final : public Solver {
 public:
  std::string_view id() const override { return "known.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "for tests"; }
  Support supports(const Problem& problem, const DeviceInfo&) const override {
    return problem.integer("m") == 7 ? Support::no("takes no m=7") : Support{};
  }
  std::unique_ptr<Backend> open(Device&) const override { return nullptr; }
};

/// States its configs without a device: one, on all units.
class StatingSolver final : public Solver, public StaticSpace {
 public:
  std::string_view id() const override { return "stating.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "for tests"; }
  Support supports(const Problem&, const DeviceInfo&) const override { return {}; }
  const StaticSpace* static_space() const override { return this; }
  SearchSpace space(const Problem&, const DeviceInfo& device) const override {
    return SearchSpace::listed({Config({{"threads", device.num_units}})});
  }
  Config default_config(const Problem&, const DeviceInfo& device) const override {
    return Config({{"threads", device.num_units}});
  }
  std::unique_ptr<Backend> open(Device&) const override { return nullptr; }
};

class CoverageTest : public testing::Test {
 protected:
  CoverageTest() {
    solvers_.add(std::make_unique<KnownSolver>());
    solvers_.add(std::make_unique<StatingSolver>());
  }
  RowCoverage rows(std::vector<CsvDocument> documents, Requirement required = Requirement::none) const {
    const Table table = test_table(std::move(documents));
    return row_coverage(std::span(&table, 1), device_, solvers_, required);
  }
  /// Returns the unused rows as `place kind: detail`.
  static std::vector<std::string> unused(const RowCoverage& coverage) {
    std::vector<std::string> texts;
    for (const UnusedRow& row : coverage.unused)
      texts.push_back(fmt::format("{} {}: {}", row.place, row.kind, row.detail));
    return texts;
  }
  DeviceInfo device_ = table_device();
  Registry solvers_;
};

TEST_F(CoverageTest, RowsThatLoseSayToWhatTheyLose) {
  device_.model = "A";
  const auto coverage = rows({test_document("a.csv",
                                            {test_row(1, "3") + ",,", test_row(1, "2") + ",,", test_row(2, "0") + ",,",
                                             test_row(3, "1") + ",,slow_boot", test_row(4, "1") + ",B,",
                                             test_row(5, "1", kTestKernel, "gfx942,304") + ",,"},
                                            ",device,_tag"),
                              test_document("b.csv", {test_row(1, "1")})});
  EXPECT_EQ(coverage.num_rows, 6u);  // Not the one of another device.
  EXPECT_THAT(unused(coverage),
              ElementsAre("a.csv:2 is slower than another row of its file: a.csv:3 wins, 2 µs",
                          "a.csv:4 has no usable time: column 'us' expects a time in µs from 1e-09 to 1e+18, got '0'",
                          "a.csv:5 has a _tag: slow_boot", "a.csv:6 is of another model: B",
                          "b.csv:2 is shadowed by an earlier file: a.csv:3 wins, 2 µs"));
}

TEST_F(CoverageTest, RowsThatWinSayWhyTheirKernelCannotRunHere) {
  const auto coverage = rows({test_document(
      "a.csv", {test_row(1, "1", "_ZN5aiter"), test_row(2, "1", "nobody.gemm@1:a=1"),
                test_row(3, "1", "known.gemm@2+7:a=1"), test_row(4, "1", "known.gemm@1+7:a=1"), test_row(7, "1"),
                "fake,4,0,64,64,False,torch.float32,torch.float32,False,False,1,known.gemm@1:a=1"})});
  EXPECT_THAT(
      unused(coverage),
      ElementsAre(
          "a.csv:2 cannot be used on this machine: this program has no such kernel: '_ZN5aiter'",
          "a.csv:3 cannot be used on this machine: no solver of that name is available on this machine: nobody.gemm",
          "a.csv:4 cannot be used on this machine: made with known.gemm 2, this machine has 1",
          "a.csv:6 cannot be used on this machine: known.gemm takes no m=7",
          HasSubstr("a.csv:7 cannot be used on this machine: its key is not a valid problem: ")));
}

TEST_F(CoverageTest, ARowWhoseConfigItsSolverDoesNotOfferIsUnused) {
  const auto coverage = rows({test_document(
      "a.csv", {test_row(1, "1", "stating.gemm@1:threads=4"), test_row(2, "1", "stating.gemm@1:threads=5"),
                test_row(3, "1", "stating.gemm@1:wibble=1")})});
  ASSERT_EQ(coverage.unused.size(), 2u);
  EXPECT_THAT(unused(coverage)[0], HasSubstr("a.csv:3 cannot be used on this machine: "));
  EXPECT_THAT(unused(coverage)[1], HasSubstr("a.csv:4 cannot be used on this machine: "));
}

TEST_F(CoverageTest, ARowWhoseKernelReadsAnotherLayoutIsUnused) {
  const auto coverage = rows({test_document(
      "a.csv", {test_row(1, "1") + ",wibble", test_row(2, "1") + ",plain", test_row(3, "1") + ","}, ",layout")});
  EXPECT_THAT(unused(coverage),
              ElementsAre("a.csv:2 cannot be used on this machine: its kernel reads weights in the layout 'plain', not "
                          "in 'wibble', which is no known layout"));
}

TEST_F(CoverageTest, UnderARequirementRowsAreReachedAsByItsLookups) {
  const auto table = [] {
    return test_document("a.csv",
                         {test_row(1, "1") + ",", test_row(1, "2") + ",batch-invariant",
                          test_row(2, "2", "known.gemm@1:a=2") + ",batch-invariant"},
                         ",require");
  };
  EXPECT_THAT(unused(rows({table()})), ElementsAre());
  EXPECT_THAT(unused(rows({table()}, Requirement::batch_invariant)),
              ElementsAre("a.csv:2 does not state what is required: ",
                          "a.csv:4 names another kernel than the first row of its weight: a.csv:3"));
}

TEST_F(CoverageTest, ShapesAreCountedByTheStepThatServesThem) {
  TableSet set;
  set.max_regret = 1;
  set.tables.push_back(
      test_table({test_document("a.csv", {test_row(1, "1"), test_row(16, "1"), test_row(128, "1"), test_row(7, "1"),
                                          test_row(300, "1", "nobody.gemm@1:a=1")})}));
  const CapturedShapes captured{&test_family(),
                                {{table_problem(1), 60},
                                 {table_problem(9), 20},
                                 {table_problem(70), 10},
                                 {table_problem(18), 5},
                                 {table_problem(300), 4},
                                 {table_problem(5000), 6},
                                 {table_problem(6000), 6}}};
  const auto coverage = shape_coverage(std::span(&captured, 1), set, device_, solvers_);
  std::map<Match, std::vector<uint64_t>> served;
  for (const auto& [match, one] : coverage.served) served[match] = {one.num_shapes, one.calls};
  EXPECT_THAT(served,
              ElementsAre(Pair(Match::exact, ElementsAre(1, 60)), Pair(Match::padded_fine, ElementsAre(1, 20)),
                          Pair(Match::padded_coarse, ElementsAre(1, 10)), Pair(Match::predicted, ElementsAre(1, 5)),
                          Pair(Match::fallback, ElementsAre(3, 16))));
  EXPECT_EQ(coverage.num_shapes, 7u);
  EXPECT_EQ(coverage.calls, 111u);
  std::vector<int64_t> unserved;
  for (const CalledShape& shape : coverage.unserved) unserved.push_back(shape.problem.integer("m"));
  EXPECT_THAT(unserved, ElementsAre(5000, 6000, 300)) << "most called first, then as captured";
}

TEST_F(CoverageTest, NothingCapturedIsNothingServed) {
  const auto coverage = shape_coverage({}, {}, device_, solvers_);
  EXPECT_EQ(coverage.num_shapes, 0u);
  EXPECT_TRUE(coverage.served.empty());
}

}  // namespace
}  // namespace attune
