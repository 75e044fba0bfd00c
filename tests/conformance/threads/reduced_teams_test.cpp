// SPDX-License-Identifier: MIT
// Results under everything that makes a parallel region smaller than a solver asked for. Each solver runs under each
// setting in a process of its own, which is this program with arguments. ATTUNE_THREAD_CALLS: number of calls for each
// pair; default 100.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <latch>
#include <map>
#include <set>
#include <thread>
#include <tuple>

#include "base/error.h"
#include "base/machine.h"
#include "base/text.h"
#include "checked_calls.h"
#include "device/devices.h"
#include "process/run_command.h"
#include "solver/registry.h"
#include "thread_settings.h"
#include "traces.h"

extern char** environ;

namespace attune {
namespace {

constexpr const char* kServed = "served";

uint64_t num_calls() {
  const char* const text = std::getenv("ATTUNE_THREAD_CALLS");
  return text != nullptr ? static_cast<uint64_t>(parse_int(text).value_or(100)) : 100;
}

/// Runs this program with arguments, in this environment and a few variables more.
CommandResult run_itself(std::vector<std::string> arguments, const std::map<std::string, std::string>& more) {
  ChildCommand command;
  command.arguments = {std::filesystem::read_symlink("/proc/self/exe").string()};
  for (std::string& one : arguments) command.arguments.push_back(std::move(one));
  // Teams of four on fewer cores: threads that wait must not keep the others from working.
  command.environment = {{"GOMP_SPINCOUNT", "1000"}, {"OPENBLAS_THREAD_TIMEOUT", "4"}};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const auto equals = text.find('=');
    if (!text.starts_with("OMP_") && equals != std::string_view::npos)
      command.environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  for (const auto& [name, value] : more) command.environment[name] = value;
  return run_command(std::move(command), Milliseconds(60'000 + 60 * static_cast<int64_t>(num_calls())));
}

/// The process of one solver under one setting: prints how many calls and wrong elements there were.
int run_setting(const std::string& solver, const std::string& name) {
  for (const ThreadSetting& setting : thread_settings()) {
    if (setting.name != name) continue;
    uint64_t num_made = 0;
    const auto make = [&] {
      auto calls = solver == kServed ? served_calls() : plan_calls(solver);
      for (CheckedCall& call : calls) {
        call = [call, &num_made] {
          ++num_made;
          return call();
        };
      }
      return calls;
    };
    try {
      const uint64_t wrong = setting.run(make, num_calls());
      fmt::print("{} wrong elements in {} calls\n", wrong, num_made);
    } catch (const Error& error) {
      fmt::print("{}: {}\n", error.code() == ErrorCode::unavailable ? "unavailable" : "failed", error.what());
    }
    return 0;
  }
  return 2;
}

/// The process that compares itself before and after all calls of a solver: prints what differs.
int run_traces(const std::string& solver) {
  std::latch end(1);
  std::jthread another([&] { end.wait(); });
  std::srand(7);
  const int expected = std::rand();
  std::srand(7);
  const auto before = process_state();
  std::string error;
  try {
    for (const CheckedCall& call : solver == kServed ? served_calls() : plan_calls(solver)) call();
  } catch (const Error& caught) {
    error = fmt::format("failed: {}\n", caught.what());
  }
  std::string found = error + differences(before, process_state());
  if (std::rand() != expected) found += "rand() goes on elsewhere\n";
  end.count_down();
  fmt::print("{}differences end\n", found);
  return 0;
}

/// The run time of each thread of this process in nanoseconds; empty where the kernel does not count it.
std::map<int, uint64_t> run_times() {
  std::map<int, uint64_t> times;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "schedstat");
    if (uint64_t time = 0; file >> time) times[std::atoi(task.path().filename().c_str())] = time;
  }
  return times;
}

/// Makes the calls, and returns the cores, but for the caller's, of the threads that worked meanwhile.
std::vector<int> cores_beside_caller(const std::vector<CheckedCall>& calls) {
  auto before = run_times();
  for (int turn = 0; turn < 3; ++turn) {
    for (const CheckedCall& call : calls) call();
  }
  std::set<int> cores;
  for (const auto& [thread, time] : run_times()) {
    if (time == before[thread]) continue;
    const auto its = cores_of_thread(thread);
    cores.insert(its.begin(), its.end());
  }
  for (const int core : allowed_cores()) cores.erase(core);
  return {cores.begin(), cores.end()};
}

/// The process whose caller is bound to one core, by itself or by OpenMP: prints where its team is.
int run_bound(const std::string& solver, bool binds_itself) {
  try {
    const auto calls = plan_calls(solver);
    const auto call_all = [&] {
      const std::vector<int> core = {allowed_cores().front()};
      if (binds_itself && !bind_thread(0, core)) fail(ErrorCode::device, "this thread cannot be bound");
      const std::vector<int> others = cores_beside_caller(calls);
      if (allowed_cores() != core) fail(ErrorCode::device, "the caller is bound to one core no longer");
      fmt::print("the team is on {}\n", fmt::join(others, " "));
    };
    if (binds_itself)
      std::thread([&] {
        try {
          call_all();
        } catch (const Error& error) {
          fmt::print("failed: {}\n", error.what());
        }
      }).join();
    else
      call_all();
  } catch (const Error& error) {
    fmt::print("failed: {}\n", error.what());
  }
  return 0;
}

/// The solvers of hosts.
std::vector<std::string> solvers_of_hosts() {
  const DeviceInfo host = list_devices("cpu:0").front();
  std::vector<std::string> all;
  for (const SolverEntry& entry : registry().entries()) {
    if (entry.solver != nullptr && supports_any(*entry.solver, host)) all.push_back(entry.id);
  }
  return all;
}

/// Those, and the dispatcher.
std::vector<std::string> contestants() {
  std::vector<std::string> all = solvers_of_hosts();
  all.emplace_back(kServed);
  return all;
}

std::vector<std::string> setting_names() {
  std::vector<std::string> names;
  for (const ThreadSetting& setting : thread_settings()) names.emplace_back(setting.name);
  return names;
}

class ReducedTeams : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(ReducedTeams, GiveTheWholeResult) {
  const auto& [solver, name] = GetParam();
  for (const ThreadSetting& setting : thread_settings()) {
    if (setting.name != name) continue;
    const CommandResult result = run_itself({"--run-setting", solver, name}, setting.environment);
    ASSERT_TRUE(result.status.ok()) << result.status.describe() << "\n" << result.output;
    if (result.output.find("does not allow the filter") != std::string::npos) GTEST_SKIP() << result.output;
    // Without a thread at all, what cannot do without one says so.
    if (name == "no_new_threads_at_opening" && result.output.find("unavailable: ") != std::string::npos) return;
    EXPECT_THAT(result.output, testing::ContainsRegex("(^|\n)0 wrong elements in ")) << result.output;
  }
}

std::string test_name(std::string solver) {
  std::ranges::replace(solver, '.', '_');
  return solver;
}

INSTANTIATE_TEST_SUITE_P(Solvers, ReducedTeams,
                         testing::Combine(testing::ValuesIn(contestants()), testing::ValuesIn(setting_names())),
                         [](const auto& instance) {
                           return test_name(std::get<0>(instance.param)) + "_" + std::get<1>(instance.param);
                         });

class BoundCaller : public testing::TestWithParam<std::tuple<std::string, bool>> {};

TEST_P(BoundCaller, HasItsTeamOnAllCores) {
  const auto& [solver, binds_itself] = GetParam();
  const std::vector<int> cores = allowed_cores();
  if (cores.size() < 2) GTEST_SKIP() << "one core: every thread is on it";
  if (registry().find(solver)->thread_pool().empty()) GTEST_SKIP() << "its candidates name no threads";
  if (run_times().empty()) GTEST_SKIP() << "no schedstat";
  std::map<std::string, std::string> variables;
  if (!binds_itself) variables = {{"OMP_PROC_BIND", "true"}, {"OMP_PLACES", "threads"}};
  const CommandResult result = run_itself({"--bound", solver, binds_itself ? "itself" : "by OpenMP"}, variables);
  ASSERT_TRUE(result.status.ok()) << result.status.describe() << "\n" << result.output;
  if (binds_itself) {  // Each of the others may run on every core.
    const std::vector<int> others(cores.begin() + 1, cores.end());
    EXPECT_EQ(result.output, fmt::format("the team is on {}\n", fmt::join(others, " ")));
  } else {
    EXPECT_THAT(result.output, testing::ContainsRegex("^the team is on [0-9]"));
  }
}

INSTANTIATE_TEST_SUITE_P(Solvers, BoundCaller, testing::Combine(testing::ValuesIn(solvers_of_hosts()), testing::Bool()),
                         [](const auto& instance) {
                           return test_name(std::get<0>(instance.param)) +
                                  (std::get<1>(instance.param) ? "_bound_by_affinity" : "_bound_by_OpenMP");
                         });

class Traces : public testing::TestWithParam<std::string> {};

TEST_P(Traces, OfALibraryAreNotLeftInItsApplication) {
  const CommandResult result = run_itself({"--traces", GetParam()}, {});
  ASSERT_TRUE(result.status.ok()) << result.status.describe() << "\n" << result.output;
  EXPECT_THAT(result.output, testing::ContainsRegex("(^|\nattune: [^\n]*\n)differences end\n$"));
}

INSTANTIATE_TEST_SUITE_P(Solvers, Traces, testing::ValuesIn(contestants()),
                         [](const auto& instance) { return test_name(instance.param); });

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 3 && arguments[0] == "--run-setting") return attune::run_setting(arguments[1], arguments[2]);
  if (arguments.size() == 2 && arguments[0] == "--traces") return attune::run_traces(arguments[1]);
  if (arguments.size() == 3 && arguments[0] == "--bound")
    return attune::run_bound(arguments[1], arguments[2] == "itself");
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
