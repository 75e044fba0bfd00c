// SPDX-License-Identifier: MIT
#include "tables/kernel_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "testing/table_values.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Answers to the opening of a problem with one contender that has one config; refuses M = 7; throws for M = 8.
class OneContender final : public Executor {
 public:
  const DeviceInfo& device() const override { return device_; }
  void begin(Request request) override {
    const auto& [id, problem, protocol] = std::get<request::Open>(request);
    if (problem.integer("m") == 8) fail(ErrorCode::device, "the device is lost");
    answer_ = {.problem = id, .refused = problem.integer("m") == 7 ? "too large" : "", .contenders = {}};
    Contender& one = answer_.contenders.emplace_back();
    one.solver = "known.gemm";
    one.version = "1";
    one.space = SearchSpace::listed({Config::parse("a=1")});
  }
  int descriptor() const override { return -1; }
  std::optional<Answer> take() override { return answer_; }
  void close(ProblemId) override {}
  void drop(Slot) override {}
  void abort() override {}

 private:
  DeviceInfo device_ = table_device();
  Opened answer_;
};

TEST(KernelRows, AreTheRowsOfTheDeviceThatASolverCouldRun) {
  const Table table = test_table(
      {test_document("t.csv", {test_row(1, "1"), test_row(2, "1", kTestKernel, "fake,8"), test_row(3, "1", "_ZN5aiter"),
                               test_row(4, "1", "known.gemm@2:a=1"), test_row(5, "1", "known.gemm@1:a=2"),
                               test_row(7, "1"), test_row(9, "0", kTestKernel)})});
  OneContender executor;
  const KernelRows rows = kernel_rows(table, executor);
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

TEST(KernelRows, ALostDeviceIsNoPropertyOfARow) {
  const Table table = test_table({test_document("t.csv", {test_row(8, "1")})});
  OneContender executor;
  EXPECT_THROW(kernel_rows(table, executor), Error);
}

}  // namespace
}  // namespace attune
