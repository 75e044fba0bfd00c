// SPDX-License-Identifier: MIT
#pragma once
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "device/devices.h"
#include "measure/blocking_calls.h"
#include "measure/local_executor.h"
#include "ops/op.h"
#include "solver/registry.h"
#include "testing/poll_loop.h"
#include "worker/messages.h"
#include "worker/worker_executor.h"

namespace attune {

/// Build that the workers of tests announce.
inline constexpr const char* kTestBuild = "test";

class WorkerExecutorTest : public testing::Test {
 protected:
  void SetUp() override {
    faults_ = std::filesystem::temp_directory_path() / fmt::format("attune-worker-test-{}", ::getpid());
    options_.command = {"/proc/self/exe", "--gtest_also_run_disabled_tests",
                        "--gtest_filter=Worker.DISABLED_IsThisProcess"};
    options_.build = kTestBuild;
    options_.device = "fake:0";
    // No modules, because each worker would open them again.
    options_.environment = {{"ATTUNE_MODULES", "/nowhere"}, {"PATH", "/usr/bin"}};
    options_.strays = &strays_;
    problem_ = op_of(problem_).normalise(problem_, {});
  }
  void TearDown() override { std::filesystem::remove(faults_); }

  /// Fault lines as described in src/solvers/fake/README.md: config, fault, step, when.
  void plant(std::initializer_list<std::array<std::string, 4>> lines) {
    std::ofstream file(faults_);
    for (const auto& line : lines)
      file << "*\t" << line[0] << '\t' << line[1] << '\t' << line[2] << '\t' << line[3] << '\n';
    options_.environment["ATTUNE_FAKE_FAULTS"] = faults_;
  }
  WorkerExecutor& executor() {
    if (!executor_) executor_ = std::make_unique<WorkerExecutor>(options_);
    return *executor_;
  }
  OpenAnswer open() { return attune::open(executor(), {1, problem_, {}}); }
  request::Admit admission(Slot slot, const std::string& config, Milliseconds run = Milliseconds(2000)) const {
    const Candidate candidate{"fake.gemm", "1", Config::parse(config)};
    return {1, slot, {.candidate = candidate, .twice = true, .limits = {load_, run}}};
  }
  AdmitAnswer admit(Slot slot, const std::string& config, Milliseconds run = Milliseconds(2000)) {
    return attune::admit(executor(), admission(slot, config, run));
  }
  SampleAnswer sample(std::initializer_list<Slot> slots, uint32_t rounds = 3) {
    std::vector<Turn> schedule;
    for (uint32_t round = 0; round < rounds; ++round) {
      for (const Slot slot : slots) schedule.push_back({slot, round, 1, Milliseconds(2000)});
    }
    return attune::sample(executor(), {schedule});
  }
  uint32_t recycle() { return attune::recycle(executor()).epoch; }
  template <typename Wanted>
  Wanted aborted(Request request) {
    executor().begin(std::move(request));
    executor().abort();
    EXPECT_TRUE(is_readable(executor().descriptor()));
    return std::get<Wanted>(executor().take().value());
  }

  /// Kills the worker in the middle of slow launches.
  SampleAnswer sample_and_kill(Slot slot) {
    executor().begin(request::Sample{{Turn{slot, 0, 6, Milliseconds(20'000)}}});
    EXPECT_FALSE(executor().take());
    EXPECT_FALSE(is_readable(executor().descriptor(), Milliseconds(200))) << "it is under way";
    ::kill(executor().workers().processes.front(), SIGKILL);
    return std::get<SampleAnswer>(finish().value());
  }
  /// Waits for the answer to the outstanding request; nothing if the executor says nothing for ten seconds.
  std::optional<Answer> finish() {
    std::optional<Answer> answer;
    while (!answer && is_readable(executor().descriptor(), Milliseconds(10'000))) answer = executor().take();
    return answer;
  }

  const std::string good_ = "split_k=1;tile_m=64;tile_n=64", bad_ = "split_k=1;tile_m=16;tile_n=16",
                    other_ = "split_k=1;tile_m=32;tile_n=32";
  Problem problem_ = Problem::parse("gemm_a16w16 m=8 n=16 k=16 dtype=fp32");
  std::filesystem::path faults_;
  Milliseconds load_{2000};
  Strays strays_;
  WorkerOptions options_;
  std::unique_ptr<WorkerExecutor> executor_;
};

}  // namespace attune
