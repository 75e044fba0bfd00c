// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "base/line_output.h"
#include "base/text.h"
#include "campaign/devices/open_devices.h"
#include "campaign/journal_run.h"
#include "cli/ci/bench_shapes.h"
#include "cli/command.h"
#include "cli/flags/arguments.h"
#include "cli/flags/device_flags.h"
#include "cli/flags/problem_option.h"
#include "cli/flags/run_flags.h"
#include "cli/flags/value_checks.h"
#include "device/device_kind.h"
#include "measure/contenders.h"
#include "ops/op.h"
#include "report/comparison_output.h"
#include "report/kernel_speed.h"
#include "report/result_json.h"
#include "report/result_table.h"
#include "solver/candidate_choice.h"
#include "tuner/interleaved.h"

namespace attune {
namespace {

struct BenchOptions {
  RunOptions run;
  CandidateChoice choice;
  BenchShapesOptions shapes;
  std::string problem, require, isolation = "process";
  uint32_t rounds = 31;
  uint64_t seed = 0;
  bool json = false;
};

ClockState clock_state_of(const DeviceInfo& device) {
  const DeviceKind& kind = device_kind(device.kind);
  return kind.clock_state != nullptr ? kind.clock_state(device.id) : ClockState();
}

nlohmann::ordered_json object_of(const TimedCandidate& result, const KernelSpeed& speed, double first_cycles,
                                 const std::string& repeat) {
  nlohmann::ordered_json object = {{"candidate", result.candidate.name()},
                                   {"status", name(result.outcome.status)},
                                   {"detail", result.outcome.detail},
                                   {"err_ratio", result.outcome.errors.mismatch_ratio},
                                   {"max_relative_error", result.outcome.errors.max_relative},
                                   {"repeat", repeat}};
  if (const auto& measured = result.outcome.measurement) {
    object["spread_us"] = measured->spread_us;
    object["samples"] = measured->samples.size();
    object["noisy"] = measured->noisy;
    object["timing"] = name(measured->timing);
    add_speed(object, speed, first_cycles);
    add_comparison(object, result.comparison);
  }
  return object;
}

void print(const TimedCandidate& result, const KernelSpeed& speed, double first_cycles) {
  const auto& measured = result.outcome.measurement;
  if (!measured) {
    std::printf("%-72s %s: %s\n", result.candidate.name().c_str(), std::string(name(result.outcome.status)).c_str(),
                result.outcome.detail.c_str());
    return;
  }
  std::printf("%-72s %10.2f µs ± %6.2f  %s  errRatio %.4f%s\n", result.candidate.name().c_str(), result.comparison.us,
              measured->spread_us, ratio_text(result.comparison).c_str(), result.outcome.errors.mismatch_ratio,
              measured->noisy ? "  noisy" : "");
  print_line(stdout, "    " + text(speed, first_cycles));
}

int run_bench(const BenchOptions& options) {
  if (!options.require.empty() && options.isolation == "none")
    fail(ErrorCode::invalid_input,
         "--isolation none runs one process, and what --require asks is compared between processes");
  Environment environment = open_environment(options.run.devices, isolation_option(options.isolation));
  const DeviceInfo& device = environment.device();
  const Problem problem = parse_problem(options.problem, device);
  InterleavedOptions how{.rounds = options.rounds, .seed = options.seed};
  how.protocol.cache = options.run.cache_policy();
  how.protocol.procedure = "bench/1";
  how.protocol.require = parse_requirement(options.require);
  how.limits = options.run.limits();
  how.kernels = environment.kernels.get();
  how.protocol.seed = options.seed;
  const auto candidates =
      chosen_candidates(options.choice, problem, contenders(*environment.executor, problem, how.protocol), device);
  JournalRun recorded(options.run.journal, device);
  wait_for_quiet(environment, options.run.quiet_wait_s);
  const auto results = time_interleaved(*environment.executor, problem, candidates, how);
  const ClockState state = clock_state_of(device);
  const Work work = op_of(problem).work(problem);
  double first_cycles = 0;
  bool any = false;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  if (!options.json) {
    print_line(stdout, problem.key() + " on " + device_text(device));
    std::printf("%-72s %13s %8s  speed against the first [95 %% interval]\n", "candidate", "median", "spread");
  }
  for (const TimedCandidate& result : results) {
    any = any || result.outcome.ok();
    const auto& measured = result.outcome.measurement;
    const KernelSpeed speed = measured ? kernel_speed(*measured, work, device, state.highest_ghz) : KernelSpeed();
    if (options.json)
      list.push_back(
          object_of(result, speed, first_cycles, repeat_command(problem, result.candidate, environment.flags)));
    else
      print(result, speed, first_cycles);
    if (first_cycles == 0) first_cycles = speed.cycles;
  }
  const std::string held_by = join(state.held_by, ", ");
  if (!options.json && !held_by.empty()) print_line(stdout, "the clock is held down by: " + held_by);
  if (!state.unknown.empty()) print_notes(std::array{"what holds the clock down is not known: " + state.unknown});
  if (options.json)
    std::printf("%s\n", nlohmann::ordered_json{{"problem", problem.key()},
                                               {"device", device.key()},
                                               {"clock_held_by", state.held_by},
                                               {"candidates", list}}
                            .dump(2)
                            .c_str());
  const int status = any ? 0 : 1;
  recorded.end("done", status);
  return status;
}

/// Runs one problem, or the shapes of a file.
int run_bench_of(const BenchOptions& options) {
  const bool has_candidates = !options.choice.names.empty() || !options.choice.solver.empty() ||
                              !options.choice.config.empty() || !options.require.empty();
  if (options.problem.empty() == options.shapes.file.empty())
    fail(ErrorCode::invalid_input,
         "name either a problem, such as \"gemm_a16w16 m=128 n=1536 k=7168\", or shapes with -i");
  if (options.shapes.file.empty()) {
    if (!options.shapes.tables.empty() || !options.shapes.op.empty())
      fail(ErrorCode::invalid_input, "--table and --op are for the shapes of -i");
    return run_bench(options);
  }
  if (has_candidates || options.isolation != "process")
    fail(ErrorCode::invalid_input,
         "with -i the kernels are those that serve: omit --solver, --config, --candidate, --require and --isolation");
  BenchShapesOptions shapes = options.shapes;
  shapes.rounds = options.rounds;
  shapes.seed = options.seed;
  shapes.json = options.json;
  return run_bench_shapes(shapes, options.run);
}

void add_bench_flags(CLI::App& command, Action& chosen) {
  auto options = std::make_shared<BenchOptions>();
  command.add_option("problem", options->problem, "Problem, such as \"gemm_a16w16 m=128 n=1536 k=7168 dtype=fp32\"");
  command.add_option("-i,--input_file", options->shapes.file,
                     "Instead: a list of shapes or a tuned table, of each shape the time that its row states, of the "
                     "kernel that serves it, and of the default");
  command.add_option("-t,--table", options->shapes.tables,
                     "Tuned tables that serve the shapes, F:F2 for several; default: the file of -i if it is one, else "
                     "the tables of the run time");
  command.add_option("--op", options->shapes.op, "Family of the shapes, if the file does not identify it");
  command.add_option("--solver", options->choice.solver, "One solver, such as onednn.gemm");
  command.add_option("--config", options->choice.config,
                     "Config of that solver: \"impl=gemm:jit;threads=2\"; default: the untuned one");
  command
      .add_option("--candidate", options->choice.names,
                  "Full name of a candidate, as in tables, or its number with the library here, \"cublaslt#17\"; may "
                  "be repeated")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_run_flags(command, options->run);
  add_require_flag(command, options->require,
                   "Verify besides that each candidate is deterministic or batch-invariant, bit by bit");
  command.add_option("--iters", options->rounds, "Number of rounds; each takes one sample of every candidate")
      ->capture_default_str()
      ->check(positive_count_error);
  command.add_option("--seed", options->seed, "Seed of the data and the order")
      ->capture_default_str()
      ->check(natural_number_error);
  add_isolation_flag(command, options->isolation);
  add_json_flag(command, options->json);
  command.callback([options, &chosen] { chosen = [options] { return run_bench_of(*options); }; });
}

}  // namespace

Command bench_command() {
  return {CommandGroup::inspect, "bench",
          "Verify and time kernels of one problem, interleaved; without --solver: the default config of every solver; "
          "with -i: "
          "of many shapes, as they are served",
          add_bench_flags};
}

}  // namespace attune
