// SPDX-License-Identifier: MIT
// Results under everything that makes a parallel region smaller than a solver asked for. Each solver runs under each
// setting in a process of its own, which is this program with arguments. ATTUNE_THREAD_CALLS: number of calls for each
// pair; default 100.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <tuple>

#include "../solver_ids.h"
#include "base/error.h"
#include "base/text.h"
#include "checked_calls.h"
#include "process/run_command.h"
#include "thread_settings.h"

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
  return run_command(std::move(command), Milliseconds(280'000));
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

std::vector<std::string> contestants() {
  std::vector<std::string> all = solver_ids();
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
    if (result.output.find("unavailable: ") != std::string::npos ||
        result.output.find("skipped: ") != std::string::npos)
      GTEST_SKIP() << result.output;
    EXPECT_THAT(result.output, testing::HasSubstr("0 wrong elements in ")) << result.output;
    EXPECT_THAT(result.output, testing::StartsWith("0 wrong")) << "nothing else is printed";
    std::fputs(result.output.c_str(), stdout);
  }
}

INSTANTIATE_TEST_SUITE_P(Solvers, ReducedTeams,
                         testing::Combine(testing::ValuesIn(contestants()), testing::ValuesIn(setting_names())),
                         [](const auto& instance) {
                           std::string name = std::get<0>(instance.param);
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name + "_" + std::get<1>(instance.param);
                         });

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 3 && arguments[0] == "--run-setting") return attune::run_setting(arguments[1], arguments[2]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
