// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/line_output.h"
#include "campaign/journal_run.h"
#include "campaign/open_devices.h"
#include "cli/command.h"
#include "cli/flags/arguments.h"
#include "cli/flags/device_flags.h"
#include "cli/flags/problem_option.h"
#include "core/turn.h"
#include "measure/contenders.h"
#include "report/comparison_output.h"
#include "report/result_json.h"
#include "report/result_table.h"
#include "tuner/interleaved.h"

namespace attune {
namespace {

struct BenchOptions {
  DeviceChoice devices;
  std::string problem, solver, config, journal, inputs = "served", isolation = "process";
  std::vector<std::string> candidates;
  uint32_t rounds = 31;
  uint64_t seed = 0;
  double quiet_wait_s = 0, load_deadline_s = 60, run_deadline_s = 60;
  bool json = false;
};

Candidate candidate_of(const std::string& solver, const std::string& config, const std::vector<Contender>& here) {
  for (const Contender& contender : here) {
    if (contender.solver != solver) continue;
    if (!contender.support.yes)
      fail(ErrorCode::unavailable, "the solver does not support the problem: {} {}", solver, contender.support.reason);
    return {solver, contender.version, config.empty() ? contender.untuned : Config::parse(config)};
  }
  fail(ErrorCode::not_found, "no solver of this name is available, see `attune list solvers`: '{}'", solver);
}

std::vector<Candidate> wanted_candidates(const BenchOptions& options, const std::vector<Contender>& here) {
  std::vector<Candidate> wanted;
  for (const auto& name : options.candidates) wanted.push_back(Candidate::parse(name));
  if (!options.solver.empty())
    wanted.push_back(candidate_of(options.solver, options.config, here));
  else if (!options.config.empty())
    fail(ErrorCode::invalid_input, "--config needs --solver");
  if (!wanted.empty()) return wanted;
  for (const Contender& contender : here) {
    if (contender.support.yes) wanted.push_back({contender.solver, contender.version, contender.untuned});
  }
  if (wanted.empty())
    fail(ErrorCode::unavailable, "no available solver supports the problem; `attune list candidates` shows why: '{}'",
         options.problem);
  return wanted;
}

int run_bench(const BenchOptions& options) {
  Environment environment = open_environment(options.devices, isolation_option(options.isolation));
  const DeviceInfo& device = environment.device();
  const Problem problem = parse_problem(options.problem, device);
  InterleavedOptions how{.rounds = options.rounds, .seed = options.seed};
  how.protocol.cache = parse_cache_policy(options.inputs);
  how.protocol.procedure = "bench/1";
  how.limits = {milliseconds_of(options.load_deadline_s), milliseconds_of(options.run_deadline_s)};
  how.kernels = environment.kernels.get();
  how.protocol.seed = options.seed;
  const auto wanted = wanted_candidates(options, contenders(*environment.executor, problem, how.protocol));
  JournalRun recorded(options.journal, device);
  wait_for_quiet(environment, options.quiet_wait_s);
  const auto results = time_interleaved(*environment.executor, problem, wanted, how);
  bool any = false;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  if (!options.json) {
    print_line(stdout, problem.key() + " on " + device_text(device));
    std::printf("%-72s %13s %8s  speed against the first [95 %% interval]\n", "candidate", "median", "spread");
  }
  for (const TimedCandidate& result : results) {
    any = any || result.outcome.ok();
    const auto& measured = result.outcome.measurement;
    if (options.json) {
      nlohmann::ordered_json object = {{"candidate", result.candidate.name()},
                                       {"status", name(result.outcome.status)},
                                       {"detail", result.outcome.detail},
                                       {"err_ratio", result.outcome.errors.mismatch_ratio},
                                       {"max_relative_error", result.outcome.errors.max_relative},
                                       {"repeat", repeat_command(problem, result.candidate, environment.flags)}};
      if (measured) {
        object["spread_us"] = measured->spread_us;
        object["samples"] = measured->samples.size();
        object["noisy"] = measured->noisy;
        add_comparison(object, result.comparison);
      }
      list.push_back(std::move(object));
    } else if (measured) {
      std::printf("%-72s %10.2f µs ± %6.2f  %s  errRatio %.4f%s\n", result.candidate.name().c_str(),
                  result.comparison.us, measured->spread_us, ratio_text(result.comparison).c_str(),
                  result.outcome.errors.mismatch_ratio, measured->noisy ? "  noisy" : "");
    } else {
      std::printf("%-72s %s: %s\n", result.candidate.name().c_str(), std::string(name(result.outcome.status)).c_str(),
                  result.outcome.detail.c_str());
    }
  }
  if (options.json)
    std::printf("%s\n",
                nlohmann::ordered_json{{"problem", problem.key()}, {"device", device.key()}, {"candidates", list}}
                    .dump(2)
                    .c_str());
  const int status = any ? 0 : 1;
  recorded.end("done", status);
  return status;
}

void add_bench_flags(CLI::App& verb, Action& chosen) {
  auto options = std::make_shared<BenchOptions>();
  verb.add_option("problem", options->problem, "Problem, such as \"gemm_a16w16 m=128 n=1536 k=7168 dtype=fp32\"")
      ->required();
  verb.add_option("--solver", options->solver, "One solver, such as onednn.gemm");
  verb.add_option("--config", options->config,
                  "Config of that solver: \"impl=gemm:jit;threads=2\"; default: the untuned one");
  verb.add_option("--candidate", options->candidates, "Full name of a candidate, as in tables; may be repeated")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_device_flags(verb, options->devices);
  verb.add_option("--journal", options->journal,
                  "Journal that records this run; default: the one that `attune paths` shows, if it exists");
  add_inputs_flag(verb, options->inputs);
  verb.add_option("--iters", options->rounds, "Number of rounds; each takes one sample of every candidate")
      ->capture_default_str()
      ->check(positive_number_error);
  verb.add_option("--seed", options->seed, "Seed of the data and the order")
      ->capture_default_str()
      ->check(natural_number_error);
  add_quiet_wait_flag(verb, options->quiet_wait_s);
  verb.add_option("--isolation", options->isolation,
                  "process: candidates run in a worker process; none: in this process")
      ->capture_default_str()
      ->check(CLI::IsMember({"process", "none"}));
  add_deadline_flag(verb, "--run-deadline", options->run_deadline_s, "Seconds a launch may take");
  add_deadline_flag(verb, "--load-deadline", options->load_deadline_s, "Seconds that preparing a kernel may take");
  verb.add_flag("--json", options->json, "Machine-readable");
  verb.callback([options, &chosen] { chosen = [options] { return run_bench(*options); }; });
}

}  // namespace

Verb bench_verb() {
  return {VerbGroup::look, "bench",
          "Verify and time kernels of one problem, interleaved; without --solver: the untuned config of every solver",
          add_bench_flags};
}

}  // namespace attune
