// SPDX-License-Identifier: MIT
#include "tables/kernel_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "solver/static/static_contenders.h"
#include "testing/table_values.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// One contender that has one config; refuses M = 7; throws for M = 8.
std::vector<Contender> one_contender(const Problem& problem) {
  if (problem.integer("m") == 7) fail(ErrorCode::unavailable, "too large");
  if (problem.integer("m") == 8) fail(ErrorCode::device, "the device is lost");
  return {{.solver = "known.gemm", .version = "1", .space = SearchSpace::listed({Config::parse("a=1")})}};
}

TEST(KernelRows, AreTheRowsOfTheDeviceThatASolverCouldRun) {
  const Table table = test_table(
      {test_document("t.csv", {test_row(1, "1"), test_row(2, "1", kTestKernel, "fake,8"), test_row(3, "1", "_ZN5aiter"),
                               test_row(4, "1", "known.gemm@2:a=1"), test_row(5, "1", "known.gemm@1:a=2"),
                               test_row(7, "1"), test_row(9, "0", kTestKernel)})});
  const KernelRows rows = kernel_rows(table, table_device(), one_contender);
  std::vector<size_t> usable;
  for (const KernelRow& one : rows.usable) usable.push_back(one.row->line);
  EXPECT_THAT(usable, ElementsAre(2, 8));
  EXPECT_EQ(rows.usable.front().candidate.name(), kTestKernel);
  EXPECT_EQ(rows.usable.front().problem.integer("m"), 1);
  EXPECT_EQ(rows.usable.front().contenders.size(), 1u);
  std::vector<std::string> unusable;
  for (const auto& [row, why] : rows.unusable) unusable.push_back(fmt::format("{} {}", row->line, why));
  EXPECT_THAT(unusable, ElementsAre(HasSubstr("4 "), HasSubstr("5 made with known.gemm 2, this machine has 1"),
                                    HasSubstr("6 "), "7 too large"));
}

TEST(KernelRows, OfALayoutThatTheKernelDoesNotReadNeedNone) {
  const Table table = test_table({test_document("t.csv", {test_row(1, "1") + ",wibble"}, ",layout")});
  const KernelRows rows = kernel_rows(table, table_device(), one_contender);
  EXPECT_TRUE(rows.usable.empty());
  ASSERT_EQ(rows.unusable.size(), 1u);
  EXPECT_THAT(rows.unusable.front().why, HasSubstr("not in 'wibble'"));
}

TEST(KernelRows, ALostDeviceIsNoPropertyOfARow) {
  const Table table = test_table({test_document("t.csv", {test_row(8, "1")})});
  EXPECT_THROW(kernel_rows(table, table_device(), one_contender), Error);
}

/// Supports every problem, and its configs are known on the device only.
class LibraryOfRows final : public Solver {
 public:
  std::string_view id() const override { return "known.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "for this test"; }
  Support supports(const Problem&, const DeviceInfo&) const override { return {}; }
  std::unique_ptr<Backend> open(Device&) const override { return nullptr; }
};

TEST(KernelRows, OfALibraryNeedNoKernelWhereTheDeviceIsNotHere) {
  const Table table = test_table(
      {test_document("t.csv", {test_row(1, "1", "known.gemm@1+2.3:a=1"), test_row(2, "1", "lost.gemm@1:a=1")})});
  Registry solvers;
  solvers.add(std::make_unique<LibraryOfRows>());
  const KernelRows rows = kernel_rows(table, table_device(), [&](const Problem& problem) {
    return static_contenders(solvers, problem, table_device());
  });
  ASSERT_EQ(rows.usable.size(), 1u);
  EXPECT_EQ(rows.usable.front().row->line, 2u);
  ASSERT_EQ(rows.unusable.size(), 1u);
  EXPECT_EQ(rows.unusable.front().row->line, 3u);
}

class KernelsOfRows : public testing::Test {
 protected:
  /// A result with the given files.
  static Kernels::BuildResult built(const std::vector<std::string>& files) {
    Kernels::BuildResult result;
    result.outcome.status = Status::ok;
    for (const std::string& file : files) result.binaries.emplace_back().file = file;
    return result;
  }
  static Kernels::BuildResult failed(const std::string& detail) {
    Kernels::BuildResult result;
    result.outcome.status = Status::compile_failed;
    result.outcome.detail = detail;
    return result;
  }
  RowKernels build(std::vector<Kernels::BuildResult> results) {
    return build_row_kernels(rows_, [&](std::span<const Kernels::Request> requests) {
      requests_.assign(requests.begin(), requests.end());
      return results;
    });
  }

  const Table table_ = test_table({test_document("t.csv", {test_row(1, "1"), test_row(2, "1"), test_row(3, "1")})});
  const KernelRows rows_ = kernel_rows(table_, table_device(), one_contender);
  std::vector<Kernels::Request> requests_;
};

TEST_F(KernelsOfRows, AreBuiltInOneCallInTheOrderOfTheTable) {
  build({built({}), built({}), built({})});
  ASSERT_THAT(requests_, SizeIs(3));
  EXPECT_EQ(requests_[1].problem->integer("m"), 2);
  EXPECT_EQ(requests_[1].contender, &rows_.usable[1].contenders.front());
  EXPECT_EQ(requests_[1].candidate.name(), kTestKernel);
}

TEST_F(KernelsOfRows, AFileThatRowsShareCountsOnce) {
  const RowKernels kernels = build({built({"x.so", "y.so"}), built({"y.so"}), built({"z.so"})});
  EXPECT_EQ(kernels.num_rows, 3u);
  EXPECT_THAT(kernels.files, ElementsAre("x.so", "y.so", "z.so"));
  EXPECT_THAT(kernels.failures, IsEmpty());
}

TEST_F(KernelsOfRows, ARowThatNeedsNoKernelIsNotCountedAndAFailureNamesItsRow) {
  const RowKernels kernels = build({built({}), failed("a syntax error"), built({"z.so"})});
  EXPECT_EQ(kernels.num_rows, 1u);
  ASSERT_THAT(kernels.failures, SizeIs(1));
  EXPECT_EQ(kernels.failures[0].row, rows_.usable[1].row);
  EXPECT_EQ(kernels.failures[0].outcome.detail, "a syntax error");
}

}  // namespace
}  // namespace attune
