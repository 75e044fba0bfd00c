// SPDX-License-Identifier: MIT
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "base/variable.h"
#include "device/own_buffer.h"
#include "process/temporary_folder.h"
#include "solver/registry.h"
#include "testing/planted_gemm.h"
#include "testing/worker_fixture.h"
#include "worker/worker_loop.h"

namespace attune {

/// A solver of the fake device whose library takes long to open, and long to list its configs: `launch=N;us=M` is a
/// kernel that takes M µs. It writes what it does to the file that ATTUNE_SLOW_LIBRARY names, a line each:
/// `1234 open`, `1234 list`, with the process.
class SlowLibrary final : public Solver {
 public:
  static constexpr std::chrono::milliseconds kOpen{50}, kList{100};
  static constexpr int kNumConfigs = 20, kLaunchUs = 2000;
  /// The process dies instead of listing while this file exists beside that of the variable.
  static constexpr const char* kDeadly = ".deadly";
  /// Names a file: while it exists, a library that is open holds all free memory of the device (`1234 full`).
  static constexpr const char* kFullVariable = "ATTUNE_SLOW_LIBRARY_FULL";

  std::string_view id() const override { return "slow.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "a library that takes long to list"; }
  Support supports(const Problem&, const DeviceInfo&) const override { return {}; }
  std::unique_ptr<Backend> open(Device& device) const override {
    say("open");
    std::this_thread::sleep_for(kOpen);
    return std::make_unique<SlowBackend>(dynamic_cast<FakeDevice&>(device));
  }

  /// The lines of a log so far: process and what it did.
  static std::vector<std::pair<pid_t, std::string>> read(const std::string& log) {
    std::vector<std::pair<pid_t, std::string>> all;
    const std::string text = file_exists(log) ? read_file(log) : "";
    for (const auto line : split(text, '\n')) {
      const auto space = line.find(' ');
      if (space != std::string_view::npos) all.emplace_back(std::stoi(std::string(line)), line.substr(space + 1));
    }
    return all;
  }

 private:
  static bool file_exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }
  static void say(const std::string& what) {
    const char* const log = variable_value("ATTUNE_SLOW_LIBRARY");
    if (log == nullptr) return;
    const int file = ::open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const std::string line = std::to_string(::getpid()) + ' ' + what + '\n';
    [[maybe_unused]] const auto written = ::write(file, line.data(), line.size());
    ::close(file);
    if (what == "list" && file_exists(std::string(log) + kDeadly)) ::_exit(1);
  }
  /// As exactly as the device's clock says it.
  static void take(std::chrono::microseconds time) {
    constexpr std::chrono::microseconds kLateWakeUp{200};
    const auto end = std::chrono::steady_clock::now() + time;
    std::this_thread::sleep_until(end - kLateWakeUp);
    while (std::chrono::steady_clock::now() < end) continue;
  }
  static Config config_of(int64_t launch) { return Config({{"launch", launch}, {"us", int64_t{kLaunchUs}}}); }

  class SlowBackend final : public Backend {
   public:
    explicit SlowBackend(FakeDevice& device) : device_(device) {
      if (const char* const file = variable_value(kFullVariable))
        holder_ = std::jthread([this, file](const std::stop_token& stop) { hold_memory(stop, file); });
    }
    Versions versions() const override { return {{"slow.gemm", "1+1"}}; }
    SearchSpace space(const Problem&) override {
      say("list");
      std::this_thread::sleep_for(kList);
      std::vector<Config> all;
      for (int i = 0; i < kNumConfigs; ++i) all.push_back(config_of(i));
      return SearchSpace::listed(std::move(all));
    }
    std::optional<bool> offers(const Problem&, const Config&) override { return true; }
    Config default_config(const Problem&) override { return config_of(0); }
    std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext&) override {
      const auto us = config.integer("us");
      return std::make_unique<EnqueuedGemm>(GemmShape::of(problem), static_cast<double>(us), true, device_,
                                            [us](auto) { take(std::chrono::microseconds(us)); });
    }

   private:
    void hold_memory(const std::stop_token& stop, const std::string& file) {
      std::optional<OwnBuffer> all;
      for (; !stop.stop_requested(); std::this_thread::sleep_for(std::chrono::milliseconds(2))) {
        if (!file_exists(file)) {
          all.reset();
        } else if (!all) {
          all.emplace(device_.memory(), device_.memory().free_bytes().value(), 1);
          say("full");
        }
      }
    }
    FakeDevice& device_;
    std::jthread holder_;
  };
};

/// An executor whose workers are this test program with a library that takes long, and of which a second one stands by.
/// The program has the worker as a disabled test, `TEST(SlowWorker, DISABLED_IsThisProcess) { run_slow_worker(); }`.
class SlowWorkerFixture : public WorkerExecutorTest {
 protected:
  void SetUp() override {
    WorkerExecutorTest::SetUp();
    options_.command.back() = "--gtest_filter=SlowWorker.DISABLED_IsThisProcess";
    options_.environment["ATTUNE_SLOW_LIBRARY"] = log_;
    options_.spare = true;
  }
  const TemporaryFolder folder_{"slow-worker-test"};
  const std::string log_ = folder_.path() / "log";
};

[[noreturn]] inline void run_slow_worker() {
  Registry solvers;
  solvers.add(std::make_unique<SlowLibrary>());
  ::_exit(run_worker(solvers, kTestBuild));
}

}  // namespace attune
