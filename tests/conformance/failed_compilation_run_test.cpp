// SPDX-License-Identifier: MIT
// Tests a dispatcher whose kernels fail to compile: it tries once, reports it, and continues with what it has.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <thread>

#include "attune/dispatcher.h"
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

constexpr int64_t kM = 6, kColumns = 90, kDepth = 130;
constexpr GemmKey kKey{.m = kM, .n = kColumns, .k = kDepth, .in = DType::fp32, .out = DType::fp32};

/// Sets up a compiler that reports its version but fails at every product and counts its calls (sources that pack
/// operands still compile), an empty cache, and kernels to compile for plain and for packed weights.
class FailedJitCompilation : public testing::Test {
 protected:
  FailedJitCompilation() {
    const auto script = folder_.path() / "cc";
    write_file_atomically(script, fmt::format("#!/bin/sh\n"
                                              "case \"$*\" in *--version*) echo 'gcc (broken) 1.2.3'; exit 0;; esac\n"
                                              "grep -q pack_columns kernel.c && exec cc \"$@\"\n"
                                              "echo once >>'{}'\n"
                                              "echo 'no room for this kernel' >&2\n"
                                              "exit 1\n",
                                              (folder_.path() / "calls").string()));
    ::chmod(script.c_str(), 0700);
    compiler_.emplace("ATTUNE_CC", script.string());
    cache_.emplace("ATTUNE_CACHE", (folder_.path() / "cache").string());
  }

  /// Returns two candidates of the generated kernels with different sources, for plain or packed weights.
  std::vector<std::string> candidates(bool packed) const {
    const auto device = open_device("cpu:0");
    const Problem asked = Problem::parse(
        fmt::format("gemm_a16w16 m={} n={} k={} dtype=fp32 bpreshuffle={}", kM, kColumns, kDepth, packed ? 1 : 0));
    const Problem problem = op_of(asked).normalise(asked, device->info());
    const Solver* solver = registry().find("jit_cpu.gemm");
    if (solver == nullptr) return {};
    const SearchSpace space = solver->open(*device)->space(problem);
    std::vector<std::string> found, recipes;
    for (const uint64_t index : prune(space, problem, device->info(), 1, 2000).allowed) {
      const Config config = space.at(index);
      const auto tasks = solver->compile_tasks(problem, config, device->info());
      if (packed == (layout_of(config) == "plain") || tasks.empty()) continue;
      if (std::find(recipes.begin(), recipes.end(), tasks[0].recipe()) != recipes.end()) continue;
      recipes.push_back(tasks[0].recipe());
      found.push_back(Candidate{std::string(solver->id()), std::string(solver->version()), config}.name());
      if (found.size() == 2) break;
    }
    return found;
  }
  /// Writes a table with rows for the shape's M and for the M that it is padded to.
  std::filesystem::path table(const std::vector<std::string>& kernels, bool packed) const {
    const auto device = open_device("cpu:0");
    std::string text = "gfx,cu_num,M,N,K,bias,dtype,outdtype,bpreshuffle,us,kernelName,layout\n";
    int64_t m = kM;
    for (const std::string& kernel : kernels) {
      text += fmt::format("{},{},{},{},{},False,{},{},{},1,{},{}\n", device->info().gfx, device->info().num_units, m,
                          kColumns, kDepth, torch_name(DType::fp32), torch_name(DType::fp32), packed ? "True" : "False",
                          kernel, layout_of(Candidate::parse(kernel)));
      m = 8;
    }
    auto file = folder_.path() / "t.csv";
    write_file_atomically(file, text);
    return file;
  }
  DispatcherOptions options(CompileMode compile_mode, const std::vector<std::string>& kernels, bool packed) const {
    DispatcherOptions wanted{.compile_mode = compile_mode, .poll_interval = std::chrono::milliseconds(0)};
    wanted.tables["gemm_a16w16"] = {table(kernels, packed)};
    return wanted;
  }
  size_t num_calls() const {
    const auto file = folder_.path() / "calls";
    if (!std::filesystem::exists(file)) return 0;
    const std::string text = read_file(file);
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  }
  void run(Dispatcher& dispatcher) {
    alignas(64) static std::array<float, kM * kDepth> a;
    alignas(64) static std::array<float, kColumns * kDepth> b;
    alignas(64) static std::array<float, kM * kColumns> c;
    a.fill(1);
    b.fill(2);
    const std::array<void*, 3> operands = {a.data(), b.data(), c.data()};
    dispatcher.run(kKey, operands);
    EXPECT_EQ(c[kM * kColumns - 1], 2.0f * kDepth);
  }

  const TemporaryFolder folder_{"attune_failed_"};
  std::optional<TestEnvironment> compiler_, cache_;
};

TEST_F(FailedJitCompilation, OfEveryRowLeavesTheDefaultConfigAndIsNotRepeated) {
  const auto kernels = candidates(false);
  if (kernels.size() < 2) GTEST_SKIP() << "no generated kernels here";
  Dispatcher dispatcher(options(CompileMode::blocking, kernels, false));
  run(dispatcher);
  EXPECT_EQ(num_calls(), 2u) << "the shape's own row, then the padded one";
  const Hit hit = dispatcher.choose(kKey);
  EXPECT_NE(hit.plan, nullptr);
  EXPECT_EQ(hit.match, Match::fallback);
  EXPECT_FALSE(hit.is_stand_in);
  run(dispatcher);
  EXPECT_EQ(num_calls(), 2u);
  EXPECT_EQ(dispatcher.counts().missed_shapes, 1u);
}

TEST_F(FailedJitCompilation, IsWaitedForWhenALookupCameFirst) {
  const auto kernels = candidates(false);
  if (kernels.size() < 2) GTEST_SKIP() << "no generated kernels here";
  DispatcherOptions wanted = options(CompileMode::blocking, kernels, false);
  wanted.log_hits = true;
  testing::internal::CaptureStderr();
  Dispatcher dispatcher(wanted);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (dispatcher.choose(kKey).plan == nullptr && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      testing::ContainsRegex(": exact of .*: jit_cpu[^;]*;.*; until it is compiled, [a-z_0-9]+\\.gemm@.* stands "
                             "in\n"));
  EXPECT_TRUE(dispatcher.choose(kKey).is_stand_in) << "the default config stands in";
  EXPECT_THAT(dispatcher.explain(kKey),
              testing::ContainsRegex("served by       the default config [a-z_0-9]+\\.gemm@.* until the "
                                     "kernel of the exact row is compiled\n"));
  EXPECT_EQ(num_calls(), 0u);
  run(dispatcher);
  EXPECT_EQ(num_calls(), 2u);
  EXPECT_FALSE(dispatcher.choose(kKey).is_stand_in);
}

TEST_F(FailedJitCompilation, InTheBackgroundEndsTheWait) {
  const auto kernels = candidates(false);
  if (kernels.size() < 2) GTEST_SKIP() << "no generated kernels here";
  Dispatcher dispatcher(options(CompileMode::background, kernels, false));
  run(dispatcher);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  Hit hit = dispatcher.choose(kKey);
  while (hit.is_stand_in && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    hit = dispatcher.choose(kKey);
  }
  EXPECT_FALSE(hit.is_stand_in);
  EXPECT_EQ(hit.match, Match::fallback);
  EXPECT_EQ(num_calls(), 2u);
  EXPECT_EQ(dispatcher.counts().missed_shapes, 1u) << "it had a row, whose kernel there is not";
}

TEST_F(FailedJitCompilation, OfAGivenCandidateIsSaidAtOnceTheSecondTime) {
  const auto kernels = candidates(false);
  if (kernels.empty()) GTEST_SKIP() << "no generated kernels here";
  Dispatcher dispatcher(options(CompileMode::never, {}, false));
  alignas(64) std::array<float, 3> unused{};
  const std::array<void*, 3> operands = {unused.data(), unused.data(), unused.data()};
  const auto why = [&] {
    try {
      dispatcher.run_candidate(fmt::format("gemm_a16w16 m={} n={} k={} dtype=fp32", kM, kColumns, kDepth), kernels[0],
                               operands);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unavailable);
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string first = why();
  EXPECT_NE(first.find("no room for this kernel"), std::string::npos) << first;
  EXPECT_EQ(why(), first);
  EXPECT_EQ(num_calls(), 1u);
  dispatcher.reload();
  EXPECT_EQ(why(), first);
  EXPECT_EQ(num_calls(), 2u);
}

TEST_F(FailedJitCompilation, ForPackedWeightsIsARefusalAndNoWait) {
  const auto kernels = candidates(true);
  if (kernels.empty()) GTEST_SKIP() << "no generated kernels of packed weights here";
  // There is a single layout, which no library reads, so there is no stand-in.
  Dispatcher dispatcher(options(CompileMode::background, {kernels[0]}, true));
  const std::vector<float> plain(kColumns * kDepth, 1);
  const Weights weights = dispatcher.pack_weights(kKey, plain.data());
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  dispatcher.choose(kKey, &weights);
  size_t before = 0;
  do {  // Wait until the dispatcher's thread has nothing left to compile.
    before = num_calls();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  } while ((before == 0 || num_calls() != before || dispatcher.choose(kKey, &weights).is_stand_in) &&
           std::chrono::steady_clock::now() < end);
  EXPECT_FALSE(dispatcher.choose(kKey, &weights).is_stand_in);
  try {
    dispatcher.require(kKey, &weights);
    ADD_FAILURE() << "a kernel that cannot be compiled serves";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("no room for this kernel"), std::string::npos) << error.what();
  }
  EXPECT_EQ(num_calls(), before);
}

}  // namespace
}  // namespace attune
