// SPDX-License-Identifier: MIT
// Experiments on real kernels of this machine, not tests: attune_live_experiments EXPERIMENT [--quick] [--json FILE] …
// docs/performance.md has the figures and their targets; tests/perf/run_all runs all experiments.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "experiment.h"
#include "solver/registry.h"

namespace {

using namespace attune;
using namespace attune::experiments;

struct Experiment {
  std::string_view name, title;
  Findings (*run)(const Settings&);
};
constexpr Experiment kExperiments[] = {
    {"machine", "what this machine is", describe_machine},
    {"record", "record noise of real kernels to --noise", record_noise},
    {"regret", "the race against the exhaustive oracle", measure_regret},
    {"aa", "one kernel under two names", measure_aa},
    {"slowed", "a kernel against itself slowed", measure_slowed},
    {"repeat", "two tunings of the shipped shapes", measure_repeat},
    {"speed", "winners against untuned oneDNN", measure_speed},
};

int usage() {
  fmt::print(
      stderr,
      "usage: attune_live_experiments EXPERIMENT [--quick] [--trials N] [--seed N] [--quiet-wait SECONDS] "
      "[--json FILE] [--markdown FILE] [--shapes FILE] [--noise FILE] [--part I/N] [--max-trials N] "
      "[--libraries a,b] [--packed] [--max-seconds S] [--devices cuda:0] [--oracle-trials N] [--beside PROGRAM]\n");
  for (const Experiment& one : kExperiments) fmt::print(stderr, "  {:<8} {}\n", one.name, one.title);
  return 2;
}

struct Arguments {
  Settings settings;
  std::string json, markdown;
};

/// Parses `0/3`: the first of three parts.
bool parse_part(std::string_view text, Settings& settings) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  const auto part = parse_int(text.substr(0, slash)), of = parse_int(text.substr(slash + 1));
  if (!part || !of || *part < 0 || *part >= *of) return false;
  settings.part = static_cast<size_t>(*part);
  settings.num_parts = static_cast<size_t>(*of);
  return true;
}

/// Returns false for an unknown word.
bool parse(int argc, char** argv, Arguments& arguments) {
  for (int i = 2; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--quick") {
      arguments.settings.quick = true;
      continue;
    }
    if (word == "--packed") {
      arguments.settings.packed = true;
      continue;
    }
    if (i + 1 == argc) return false;
    const std::string value = argv[++i];
    const auto number = parse_int(value);
    if (word == "--json") {
      arguments.json = value;
    } else if (word == "--markdown") {
      arguments.markdown = value;
    } else if (word == "--shapes") {
      arguments.settings.shapes = value;
    } else if (word == "--noise") {
      arguments.settings.noise = value;
    } else if (word == "--seed" && number && *number >= 0) {
      arguments.settings.seed = static_cast<uint64_t>(*number);
    } else if (word == "--trials" && number && *number > 0) {
      arguments.settings.num_trials = static_cast<size_t>(*number);
    } else if (word == "--max-trials") {
      arguments.settings.max_trials.clear();
      for (const auto one : split(value, ',')) {
        const auto limit = parse_int(one);
        if (!limit || *limit < 0) return false;
        arguments.settings.max_trials.push_back(static_cast<uint64_t>(*limit));
      }
    } else if (word == "--devices") {
      arguments.settings.device = value;
    } else if (word == "--beside") {
      arguments.settings.beside = value;
    } else if (word == "--oracle-trials" && number && *number > 0) {
      arguments.settings.oracle_trials = static_cast<uint64_t>(*number);
    } else if (word == "--libraries") {
      for (const auto one : split(value, ',')) arguments.settings.libraries.emplace_back(one);
    } else if (word == "--part" && parse_part(value, arguments.settings)) {
      continue;
    } else if (word == "--max-seconds" && number && *number > 0) {
      arguments.settings.max_seconds = static_cast<double>(*number);
    } else if (word == "--quiet-wait" && number && *number >= 0) {
      arguments.settings.quiet_wait_s = static_cast<double>(*number);
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view wanted = argc > 1 ? argv[1] : "";
  const auto experiment = std::find_if(std::begin(kExperiments), std::end(kExperiments),
                                       [&](const Experiment& one) { return one.name == wanted; });
  Arguments arguments;
  arguments.settings.shapes = std::filesystem::path(ATTUNE_SOURCE_DIR) / "shapes/llm_cpu_untuned_gemm.csv";
  arguments.settings.noise = std::filesystem::path(ATTUNE_SOURCE_DIR) / "tests/perf/data/host_noise.txt";
  if (experiment == std::end(kExperiments) || !parse(argc, argv, arguments)) return usage();
  try {
    registry();  // Sets variables that the libraries read; must precede any thread.
    const Findings findings = experiment->run(arguments.settings);
    fmt::print("{}", findings.markdown);
    if (!arguments.json.empty()) write_file_atomically(arguments.json, findings.json + "\n");
    if (!arguments.markdown.empty()) write_file_atomically(arguments.markdown, findings.markdown);
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return exit_status(error.code());
  }
}
