// SPDX-License-Identifier: MIT
// Tests two dispatchers, as of two processes of a group, whose generated kernels become ready at different times: a
// kernel serves on both from one exchange on, or on none.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "attune/common_changes.h"
#include "base/error.h"
#include "base/file.h"
#include "device/devices.h"
#include "ops/op.h"
#include "process/temporary_folder.h"
#include "search/prune.h"
#include "search/weight_group.h"
#include "solver/registry.h"
#include "testing/environment.h"

namespace attune {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr int64_t kM = 6, kColumns = 90, kDepth = 130;

GemmKey key_of(int64_t m, DType out = DType::fp32) {
  return {.m = m, .n = kColumns, .k = kDepth, .in = DType::fp32, .out = out};
}

/// Rank 0 finds its kernel in its cache. The compiler of rank 1 waits for a file `go`, or fails once there is a file
/// `broken`.
class CommonKernels : public testing::Test {
 protected:
  CommonKernels() {
    const std::string folder = folder_.path().string();
    write_file_atomically(folder_.path() / "cc",
                          fmt::format("#!/bin/sh\n"
                                      "case \"$*\" in *--version*) exec cc \"$@\";; esac\n"
                                      "while ! test -e '{0}/go' -o -e '{0}/broken'; do sleep 0.01; done\n"
                                      "test -e '{0}/broken' && echo 'no room' >&2 && exit 1\n"
                                      "exec cc \"$@\"\n",
                                      folder));
    ::chmod((folder_.path() / "cc").c_str(), 0700);
  }
  void permit(const char* what) const { write_file_atomically(folder_.path() / what, ""); }

  /// A generated kernel that adds K in another order than the untuned one; empty: there is none here.
  static std::string candidate(DType out) {
    const auto device = open_device("cpu:0");
    const Problem asked = Problem::parse(
        fmt::format("gemm_a16w16 m={} n={} k={} dtype=fp32 outdtype={}", kM, kColumns, kDepth, name(out)));
    const Problem problem = op_of(asked).normalise(asked, device->info());
    const Solver* solver = registry().find("jit_cpu.gemm");
    if (solver == nullptr) return {};
    const SearchSpace space = solver->open(*device)->space(problem);
    for (const uint64_t index : prune(space, problem, device->info(), 1, 2000).allowed) {
      const Config config = space.at(index);
      if (layout_of(config) == "plain" && !solver->compile_tasks(problem, config, device->info()).empty())
        return Candidate{std::string(solver->id()), std::string(solver->version()), config}.name();
    }
    return {};
  }
  /// Opens both. `with_cached`: rank 0 has the kernel.
  void start(const std::string& kernel, bool with_cached = true, DType out = DType::fp32) {
    const auto device = open_device("cpu:0");
    const std::string problem =
        fmt::format("gemm_a16w16 m={} n={} k={} dtype=fp32 outdtype={}", kM, kColumns, kDepth, name(out));
    write_file_atomically(
        folder_.path() / "t.csv",
        fmt::format("gfx,cu_num,M,N,K,bias,dtype,outdtype,us,kernelName\n{},{},{},{},{},False,{},{},1,{}\n",
                    device->info().gfx, device->info().num_units, kM, kColumns, kDepth, torch_name(DType::fp32),
                    torch_name(out), kernel));
    DispatcherOptions options{.poll_interval = std::chrono::milliseconds(0)};
    options.tables["gemm_a16w16"] = {folder_.path() / "t.csv"};
    compiler_.emplace("ATTUNE_CC", (folder_.path() / "cc").string());
    if (with_cached) permit("go");
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      const TestEnvironment cache("ATTUNE_CACHE", (folder_.path() / fmt::format("cache{}", rank)).string());
      if (rank == 0 && with_cached) {
        Dispatcher first(options);
        first.run_candidate(problem, kernel, operands());
      }
      ranks_[rank].dispatcher = std::make_unique<Dispatcher>(options);
      ranks_[rank].changes = std::make_unique<CommonChanges>(*ranks_[rank].dispatcher);
    }
    if (with_cached) std::filesystem::remove(folder_.path() / "go");
    exchange();
  }
  std::span<void* const> operands() { return operands_; }
  std::vector<std::string> exchange() {
    std::vector<std::string> texts, differences;
    for (Rank& one : ranks_) texts.push_back(one.changes->report().text);
    for (Rank& one : ranks_) differences = one.changes->apply(texts).differences;
    return differences;
  }
  /// Runs the shape on both ranks; returns whether each ran the row's kernel.
  std::array<bool, 2> run() {
    std::array<bool, 2> are_tuned{};
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      const Hit hit = ranks_[rank].dispatcher->run(key_of(kM), operands());
      are_tuned[rank] = hit.row != 0 && !hit.is_stand_in;
    }
    return are_tuned;
  }
  /// Exchanges until `is_done`, for at most a minute. No two ranks may ever run different kernels.
  void exchange_until(const std::function<bool()>& is_done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!is_done() && std::chrono::steady_clock::now() < end) {
      const auto now = run();
      ASSERT_EQ(now[0], now[1]);
      EXPECT_THAT(exchange(), testing::IsEmpty());
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    EXPECT_TRUE(is_done());
  }
  bool has_compiled(size_t rank) { return ranks_[rank].changes->report().text.find("\nkernel\t") != std::string::npos; }

  struct Rank {
    std::unique_ptr<Dispatcher> dispatcher;
    std::unique_ptr<CommonChanges> changes;
  };
  const TemporaryFolder folder_{"attune_common_"};
  std::array<Rank, 2> ranks_;

 private:
  std::vector<float> numbers_ = std::vector<float>((64 + kColumns) * (kDepth + 64) + 64 * kColumns, 1);
  std::array<void*, 3> operands_ = {numbers_.data(), numbers_.data() + 64 * 144, numbers_.data() + 64 * 144 + 96 * 144};
  std::optional<TestEnvironment> compiler_;
};

TEST_F(CommonKernels, AKernelServesOnAllRanksFromOneExchangeOn) {
  const std::string kernel = candidate(DType::fp32);
  if (kernel.empty()) GTEST_SKIP() << "no generated kernels here";
  start(kernel);
  ranks_[0].dispatcher->run_candidate(fmt::format("gemm_a16w16 m={} n={} k={} dtype=fp32", kM, kColumns, kDepth),
                                      kernel, operands());
  EXPECT_THAT(run(), Each(false)) << "though rank 0 has it in its cache, and a plan of it for another purpose";
  exchange_until([&] { return has_compiled(0); });
  for (int i = 0; i < 3; ++i) exchange();
  EXPECT_THAT(run(), Each(false)) << "rank 1 is still compiling";
  permit("go");
  exchange_until([&] { return run()[0]; });
  EXPECT_THAT(run(), Each(true));
  EXPECT_THAT(exchange(), testing::IsEmpty());
}

TEST_F(CommonKernels, AKernelThatOneRankCallsForIsCompiledByAll) {
  const std::string kernel = candidate(DType::fp32);
  if (kernel.empty()) GTEST_SKIP() << "no generated kernels here";
  permit("go");
  start(kernel, false);
  const auto runs_tuned = [&] {
    const Hit hit = ranks_[0].dispatcher->run(key_of(kM), operands());
    exchange();
    return hit.row != 0 && !hit.is_stand_in;
  };
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!runs_tuned() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_THAT(run(), Each(true)) << "rank 1 calls it for the first time";
}

TEST_F(CommonKernels, AKernelThatFailsOnOneRankServesOnNone) {
  const std::string kernel = candidate(DType::fp32);
  if (kernel.empty()) GTEST_SKIP() << "no generated kernels here";
  start(kernel);
  EXPECT_THAT(run(), Each(false));
  exchange_until([&] { return has_compiled(0); });
  permit("broken");
  const auto is_given_up = [&] {
    const Hit hit = ranks_[0].dispatcher->require(key_of(kM));
    return hit.row == 0 && !hit.is_stand_in;
  };
  exchange_until(is_given_up);
  EXPECT_THAT(run(), Each(false));
  EXPECT_EQ(ranks_[1].dispatcher->require(key_of(kM)).match, Match::fallback);
}

TEST_F(CommonKernels, WhereNothingStandsInACallWaitsOrFails) {
  const std::string kernel = candidate(DType::fp16);
  if (kernel.empty()) GTEST_SKIP() << "no generated kernels here";
  start(kernel, true, DType::fp16);
  permit("broken");
  const GemmKey key = key_of(kM, DType::fp16);
  const Hit first = ranks_[0].dispatcher->run(key, operands());
  EXPECT_EQ(first.match, Match::exact) << "the kernel of its cache";
  try {
    ranks_[1].dispatcher->run(key, operands());
    ADD_FAILURE() << "another kernel served than on rank 0";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unavailable);
    EXPECT_THAT(error.what(), HasSubstr("no room"));
  }
}

TEST_F(CommonKernels, WithoutThemEachRankChangesByItself) {
  const std::string kernel = candidate(DType::fp32);
  if (kernel.empty()) GTEST_SKIP() << "no generated kernels here";
  start(kernel);
  for (Rank& one : ranks_) one.changes.reset();
  const auto is_tuned = [&] { return run()[0]; };
  for (int i = 0; i < 2000 && !is_tuned(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_THAT(run(), testing::ElementsAre(true, false)) << "this is what they are there for";
  permit("go");
}

}  // namespace
}  // namespace attune
