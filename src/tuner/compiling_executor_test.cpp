// SPDX-License-Identifier: MIT
#include "tuner/compiling_executor.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
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
    return RecycleAnswer{7};
  }
  void close(ProblemId) override {}
  void drop(Slot) override {}
  void prefetch(std::optional<request::Open> open) override { prefetched = std::move(open); }
  void abort() override {}

  Pipe pipe;
  std::optional<request::Open> prefetched;

 private:
  DeviceInfo info_ = FakeDevice::describe();
};

/// A compiler that the machine has no process for, if planted.
class ProcesslessCompiler final : public ScriptCompiler {
 public:
  CompileCommand command(const CompileTask& task, const std::filesystem::path& folder) const override {
    if (is_refused) fail(ErrorCode::device, "planted: no more processes can be started");
    return ScriptCompiler::command(task, folder);
  }
  std::string toolchain() const override {
    if (is_versionless) fail(ErrorCode::device, "planted: no process tells the version");
    return ScriptCompiler::toolchain();
  }
  bool is_refused = false, is_versionless = false;
};

class CompilingExecutorTest : public testing::Test {
 protected:
  CompilingExecutorTest() {
    solvers_.add(std::make_unique<CompiledSolver>(
        std::vector<int64_t>{9, 7, 5}, [](const Config& config) { return ": " + config.key() + "; : >out"; }));
    contender_.solver = "onednn.gemm";
    contender_.version = "1";
    contender_.space = SearchSpace::listed({CompiledSolver::config_of(7), CompiledSolver::config_of(5)});
    for (const int64_t us : {7, 5})
      requests_.push_back({&problem_, &contender_, {"onednn.gemm", "1", CompiledSolver::config_of(us)}});
  }
  static Problem problem() {
    const Problem text = Problem::parse("gemm_a16w16 m=5 n=33 k=8 dtype=fp32");
    return op_of(text).normalise(text, FakeDevice::describe());
  }
  size_t num_compiled() {
    size_t count = 0;
    for (const auto& one : kernels_.find(requests_)) count += one.outcome.ok();
    return count;
  }

  const TemporaryFolder folder_{"compiling-executor-test"};
  Registry solvers_;
  ProcesslessCompiler compiler_;
  const Problem problem_ = problem();
  Contender contender_;
  std::vector<Kernels::Request> requests_;
  Kernels kernels_{solvers_, FakeDevice::describe(), folder_.path() / "cache", {.jobs = 1, .compilers = {&compiler_}}};
  PipeExecutor inner_;
  CompilingExecutor executor_{inner_, kernels_};
};

TEST_F(CompilingExecutorTest, KeepsCompilersGoingWhileTheDeviceWorksAndAnswersAllTheSame) {
  kernels_.prefetch(requests_);
  executor_.begin(request::Recycle{});
  while (num_compiled() < 2) {
    ASSERT_TRUE(is_readable(executor_.descriptor(), 5s)) << "one place, and the second waits for it";
    ASSERT_FALSE(executor_.take());
  }
  EXPECT_FALSE(is_readable(executor_.descriptor())) << "nothing is left to do";
  inner_.pipe.put();
  EXPECT_TRUE(is_readable(executor_.descriptor()));
  EXPECT_EQ(std::get<RecycleAnswer>(executor_.take().value()).epoch, 7u);
}

TEST_F(CompilingExecutorTest, SaysWhichProblemIsOpenedNext) {
  executor_.prefetch(request::Open{7, problem_, {}, {}});
  EXPECT_EQ(inner_.prefetched, (request::Open{7, problem_, {}, {}}));
}

TEST_F(CompilingExecutorTest, AMachineWithoutProcessesHasNotLostTheDevice) {
  kernels_.prefetch(requests_);
  compiler_.is_refused = true;
  ASSERT_TRUE(is_readable(executor_.descriptor(), 5s)) << "the second begins now";
  const auto code_of = [](const auto& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::internal;
  };
  EXPECT_EQ(code_of([&] { executor_.take(); }), ErrorCode::io);
  EXPECT_EQ(code_of([&] { kernels_.prefetch(requests_); }), ErrorCode::io);
  EXPECT_EQ(code_of([&] { kernels_.build(requests_); }), ErrorCode::io);
  compiler_.is_versionless = true;
  EXPECT_EQ(code_of([&] { kernels_.find(requests_); }), ErrorCode::io) << "its compiler is asked for its version";
}

}  // namespace
}  // namespace attune
