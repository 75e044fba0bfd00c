// SPDX-License-Identifier: MIT
#include "tuner/compiling_executor.h"

#include <gtest/gtest.h>

#include <string>

#include "device/fake/fake_device.h"
#include "ops/op.h"
#include "process/temporary_folder.h"
#include "solver/registry.h"
#include "testing/compiled_solver.h"
#include "testing/pipe.h"
#include "testing/script_compiler.h"

namespace attune {
namespace {

using namespace std::chrono_literals;

/// An executor that answers when a byte is in its pipe.
class PipeExecutor final : public Executor {
 public:
  const DeviceInfo& device() const override { return info_; }
  void begin(Request) override {}
  int descriptor() const override { return pipe.descriptor(); }
  std::optional<Answer> take() override {
    if (!is_readable(pipe.descriptor())) return std::nullopt;
    pipe.take();
    return Recycled{7};
  }
  void close(ProblemId) override {}
  void drop(Slot) override {}
  void abort() override {}

  Pipe pipe;

 private:
  DeviceInfo info_ = FakeDevice::describe();
};

TEST(CompilingExecutor, KeepsCompilersGoingWhileTheDeviceWorksAndAnswersAllTheSame) {
  const TemporaryFolder folder("compiling-executor-test");
  Registry solvers;
  solvers.add(std::make_unique<CompiledSolver>(std::vector<int64_t>{9, 7, 5},
                                               [](const Config& config) { return ": " + config.key() + "; : >out"; }));
  const ScriptCompiler compiler;
  Kernels kernels(solvers, FakeDevice::describe(), folder.path() / "cache", {.jobs = 1, .compilers = {&compiler}});
  FakeDevice device;
  const Problem text = Problem::parse("gemm_a16w16 m=5 n=33 k=8 dtype=fp32");
  const Problem problem = op_of(text).normalise(text, device.info());
  Contender contender;
  contender.solver = "onednn.gemm";
  contender.version = "1";
  contender.space = SearchSpace::listed({CompiledSolver::config_of(7), CompiledSolver::config_of(5)});
  std::vector<Kernels::Request> requests;
  for (const int64_t us : {7, 5})
    requests.push_back({&problem, &contender, {"onednn.gemm", "1", CompiledSolver::config_of(us)}});

  PipeExecutor inner;
  CompilingExecutor executor(inner, kernels);
  kernels.prefetch(requests);
  executor.begin(request::Recycle{});
  const auto num_compiled = [&] {
    size_t count = 0;
    for (const auto& one : kernels.find(requests)) count += one.outcome.ok();
    return count;
  };
  while (num_compiled() < 2) {
    ASSERT_TRUE(is_readable(executor.descriptor(), 5s)) << "one place, and the second waits for it";
    ASSERT_FALSE(executor.take());
  }
  EXPECT_FALSE(is_readable(executor.descriptor())) << "nothing is left to do";
  inner.pipe.put();
  EXPECT_TRUE(is_readable(executor.descriptor()));
  EXPECT_EQ(std::get<Recycled>(executor.take().value()).epoch, 7u);
}

}  // namespace
}  // namespace attune
