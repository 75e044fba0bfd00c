// SPDX-License-Identifier: MIT
// How often the verdicts of before and after are right, on the recorded noise of real kernels: attune_change_verdicts
// [RUNS [RECORDING]]. Ends with 1 if a bar is missed.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>

#include "base/text.h"
#include "pipeline/change_verdict.h"
#include "testing/recorded_pairs.h"

namespace attune {
namespace {

constexpr size_t kNumShapes = 10;

struct Tally {
  size_t num_found = 0;                             ///< Runs in which the planted shape is called slower.
  size_t num_faster = 0;                            ///< Runs in which it is called faster.
  size_t num_called = 0;                            ///< Runs in which any other shape is called slower or faster.
  std::array<size_t, 5> planted = {}, others = {};  ///< Verdicts.
  size_t num_pairs = 0;
};

bool is_call(Change change) { return change == Change::slower || change == Change::faster; }

/// Runs of shapes of which the first has a planted slowdown.
Tally experiment(const std::vector<RecordedSample>& noise, double slowdown, size_t num_runs, Random& random) {
  const ChangeOptions options;
  Tally tally;
  for (size_t run = 0; run < num_runs; ++run) {
    std::vector<ChangeSamples> shapes;
    for (size_t i = 0; i < kNumShapes; ++i)
      shapes.push_back(recorded_change(noise, i == 0 ? -std::log1p(slowdown) : 0, options, random));
    const auto results = judge_changes(shapes, options);
    bool any = false;
    for (size_t i = 0; i < kNumShapes; ++i) {
      ++(i == 0 ? tally.planted : tally.others)[static_cast<size_t>(results[i].verdict)];
      any = any || (is_call(results[i].verdict) && (i > 0 || slowdown == 0));
      tally.num_pairs += results[i].num_pairs;
    }
    tally.num_found += results[0].verdict == Change::slower;
    tally.num_faster += results[0].verdict == Change::faster;
    tally.num_called += any;
  }
  return tally;
}

std::string shares(const std::array<size_t, 5>& verdicts) {
  std::string text;
  size_t all = 0;
  for (const size_t count : verdicts) all += count;
  for (size_t i = 0; i < verdicts.size(); ++i) {
    if (verdicts[i] > 0)
      text += fmt::format("{}{} {:.1f} %", text.empty() ? "" : ", ", name(static_cast<Change>(i)),
                          100 * static_cast<double>(verdicts[i]) / static_cast<double>(all));
  }
  return text;
}

int run(size_t num_runs, const std::string& file) {
  bool is_met = true;
  std::printf(
      "| noise | planted slowdown | runs that find it | that call it faster | that call another shape | verdicts on it "
      "| on the others | pairs a shape |\n"
      "|---|---|---|---|---|---|---|---|\n");
  for (const char* condition : {"quiet", "bursts", "neighbour"}) {
    const auto noise = recorded_samples(file, condition);
    if (noise.empty()) {
      std::fprintf(stderr, "record the noise first (tests/perf/run_all --record), it has no section [%s]: %s\n",
                   condition, file.c_str());
      return 2;
    }
    for (const double slowdown : {0.0, 0.02, 0.05, 0.10}) {
      Random random(1);
      const Tally tally = experiment(noise, slowdown, num_runs, random);
      const auto of_runs = [&](size_t count) { return static_cast<double>(count) / static_cast<double>(num_runs); };
      std::printf("| %s | %.0f %% | %.1f %% | %.1f %% | %.1f %% | %s | %s | %.0f |\n", condition, 100 * slowdown,
                  100 * of_runs(tally.num_found), 100 * of_runs(tally.num_faster), 100 * of_runs(tally.num_called),
                  shares(tally.planted).c_str(), shares(tally.others).c_str(),
                  static_cast<double>(tally.num_pairs) / static_cast<double>(num_runs * kNumShapes));
      if (slowdown >= 0.05) is_met = is_met && of_runs(tally.num_found) >= 0.99;
      if (slowdown > 0) is_met = is_met && tally.num_faster == 0;
      is_met = is_met && of_runs(tally.num_called) <= 0.025;
    }
  }
  return is_met ? 0 : 1;
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  const auto runs = argc > 1 ? attune::parse_int(argv[1]) : 1000;
  if (!runs || *runs < 1 || argc > 3) {
    std::fprintf(stderr, "usage: attune_change_verdicts [RUNS [RECORDING]]\n");
    return 2;
  }
  return attune::run(static_cast<size_t>(*runs),
                     argc > 2 ? argv[2] : std::string(ATTUNE_SOURCE_DIR) + "/tests/perf/data/host_noise.txt");
}
