// SPDX-License-Identifier: MIT
#include "fleet/setup/list_solvers.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "device/fake/fake_device.h"
#include "measure/local_executor.h"
#include "testing/compiled_solver.h"

namespace attune {
namespace {

TEST(ListSolvers, AMissingCompilerOfASolverIsNoMissingSolver) {
  Registry solvers;
  solvers.add(std::make_unique<CompiledSolver>(std::vector<int64_t>{5, 9}, [](const Config&) { return "exit 0"; }),
              [] { fail(ErrorCode::unavailable, "its compiler is not on this machine"); });
  FakeDevice device;
  LocalExecutor executor(device, solvers);
  const auto listed = list_solvers(executor, solvers);
  ASSERT_FALSE(listed.empty());
  EXPECT_EQ(listed.front().solver.id, "onednn.gemm");
  EXPECT_TRUE(listed.front().solver.is_tunable);
}

TEST(ListSolvers, ASolverThatIsNotThereIsLeftOut) {
  Registry solvers;
  solvers.add_unavailable("onednn.gemm", "a library", "it is not installed");
  FakeDevice device;
  LocalExecutor executor(device, solvers);
  EXPECT_TRUE(list_solvers(executor, solvers).empty());
}

}  // namespace
}  // namespace attune
