// SPDX-License-Identifier: MIT
// How busy a device is kept whose kernels are compiled beside measuring, not a test: attune_compile_pipeline [--jobs N]
// [--compile MS] [--spread FACTOR] [--launch US] [--kernels N] [--problems N] [--alternate] [--at-least PERCENT]. A
// fake device's launches take their time, and compilers sleep. It ends with 1 if the device is less busy than
// --at-least. docs/performance/workers.md has the figures.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <string>

#include "measure/local_executor.h"
#include "ops/op.h"
#include "process/temporary_folder.h"
#include "solver/registry.h"
#include "testing/compiled_solver.h"
#include "testing/real_time_executor.h"
#include "testing/script_compiler.h"
#include "testing/tuner_doubles.h"
#include "tuner/kernels.h"
#include "tuner/tuner.h"

namespace {

using namespace attune;
using Work = RealTimeExecutor::Work;

constexpr size_t kFirst = 30;  // The kernel from which on the device should be busy.

std::map<std::string, double> settings = {{"--jobs", 4},      {"--compile", 50}, {"--spread", 1},    {"--launch", 1250},
                                          {"--kernels", 200}, {"--problems", 1}, {"--alternate", 0}, {"--at-least", 0}};

/// A kernel takes `--compile` ms; one in eight takes `--spread` times as long.
std::string script_of(const Config& config) {
  const int64_t number = config.integer("us");
  const double factor = number % 8 == 3 ? settings["--spread"] : 1;
  return fmt::format(": {}; sleep {}; : >out", config.key(), settings["--compile"] * factor * 1e-3);
}

double seconds(RealTimeExecutor::Clock::duration time) { return std::chrono::duration<double>(time).count(); }

/// Prints and returns the share, in percent, of the time from the 30th kernel's admission to the last one's in which
/// the device worked.
double print_busy(const std::vector<Work>& work) {
  std::vector<size_t> admissions;
  for (size_t i = 0; i < work.size(); ++i) {
    if (work[i].is_admission) admissions.push_back(i);
  }
  if (admissions.size() <= kFirst) {
    fmt::print("fewer than {} kernels were admitted\n", kFirst + 1);
    return 0;
  }
  const size_t first = admissions[kFirst - 1], last = admissions.back();
  double busy_s = 0;
  for (size_t i = first; i < last; ++i) busy_s += seconds(std::min(work[i].end, work[last].begin) - work[i].begin);
  const double all_s = seconds(work[last].begin - work[first].begin);
  const auto num_kernels = static_cast<double>(admissions.size() - kFirst);
  fmt::print("{} kernels, from the {}th on: device busy {:.1f} % of {:.2f} s, {:.1f} ms a kernel\n", admissions.size(),
             kFirst, 100 * busy_s / all_s, all_s, 1e3 * busy_s / num_kernels);
  return 100 * busy_s / all_s;
}

int run() {
  const TemporaryFolder folder("pipeline");
  std::vector<int64_t> times_us;
  const auto launch_us = static_cast<int64_t>(settings["--launch"]);
  for (int64_t i = 0; i < static_cast<int64_t>(settings["--kernels"]); ++i) times_us.push_back(launch_us + i * 7 % 64);
  std::sort(times_us.begin(), times_us.end());
  times_us.erase(std::unique(times_us.begin(), times_us.end()), times_us.end());
  for (int64_t more = launch_us + 64; times_us.size() < settings["--kernels"]; ++more) times_us.push_back(more);
  FakeDevice device;
  Registry solvers;
  solvers.add(std::make_unique<CompiledSolver>(std::move(times_us), script_of));
  const ScriptCompiler compiler;
  Kernels kernels(solvers, device.info(), folder.path() / "kernels",
                  {.jobs = static_cast<uint32_t>(settings["--jobs"]), .compilers = {&compiler}});
  LocalExecutor local(device, solvers);
  RealTimeExecutor executor(local, device);
  TunerOptions options;
  options.compiles_beside_measuring = settings["--alternate"] == 0;
  options.strategy.max_trials = static_cast<uint64_t>(settings["--kernels"]);
  const auto journal = open_memory_journal();
  SilentObserver observer;
  const std::atomic<bool> interrupted = false;
  const auto text = Problem::parse("gemm_a16w16 m=5 n=33 k=8 dtype=fp32");
  std::vector<WorkItem> items;
  for (int64_t i = 0; i < static_cast<int64_t>(settings["--problems"]); ++i)
    items.push_back({.problem = op_of(text).normalise(text.with("m", std::to_string(5 + i)), device.info()),
                     .goal = Goal::short_list});
  Tuner(executor, *journal, options, steady_clock(), &kernels).run(items, observer, interrupted);
  return print_busy(executor.work()) >= settings["--at-least"] ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const auto setting = settings.find(argv[i]);
    if (setting == settings.end() || (setting->first != "--alternate" && i + 1 == argc)) {
      fmt::print(stderr,
                 "usage: attune_compile_pipeline [--jobs N] [--compile MS] [--spread FACTOR] [--launch US] "
                 "[--kernels N] [--problems N] [--alternate] [--at-least PERCENT]\n");
      return 2;
    }
    setting->second = setting->first == "--alternate" ? 1 : std::strtod(argv[++i], nullptr);
  }
  return run();
}
