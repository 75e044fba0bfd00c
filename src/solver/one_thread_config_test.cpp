// SPDX-License-Identifier: MIT
#include "solver/one_thread_config.h"

#include <gtest/gtest.h>

#include "ops/op.h"

namespace attune {
namespace {

/// A solver that is as fast on one thread up to 2·8·8·8 operations.
class SmallSolver final : public Solver {
 public:
  std::string_view id() const override { return "small.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "one thread for small problems"; }
  Support supports(const Problem&, const DeviceInfo&) const override { return {}; }
  double one_thread_flops() const override { return 2 * 8 * 8 * 8; }
  std::unique_ptr<Backend> open(Device&) const override { return nullptr; }
};

std::optional<std::string> one_thread(const std::string& sizes, const std::string& config) {
  const auto problem = Problem::parse("gemm_a16w16 dtype=fp32 " + sizes);
  const auto changed =
      one_thread_config(SmallSolver(), op_of(problem).normalise(problem, DeviceInfo()), Config::parse(config));
  return changed ? std::optional(changed->key()) : std::nullopt;
}

TEST(OneThreadConfig, IsTheDefaultOneWithOneThreadForASmallProblem) {
  EXPECT_EQ(one_thread("m=8 n=8 k=8", "impl=x;threads=4;z=2"), "impl=x;threads=1;z=2");
  EXPECT_EQ(one_thread("m=1 n=16 k=32", "threads=2"), "threads=1");
}

TEST(OneThreadConfig, IsNoneForALargerProblemOrAConfigOfOneThread) {
  EXPECT_EQ(one_thread("m=8 n=8 k=9", "impl=x;threads=4"), std::nullopt);
  EXPECT_EQ(one_thread("m=1 n=1 k=1", "impl=x;threads=1"), std::nullopt);
  EXPECT_EQ(one_thread("m=1 n=1 k=1", "block=4x4"), std::nullopt);
}

}  // namespace
}  // namespace attune
