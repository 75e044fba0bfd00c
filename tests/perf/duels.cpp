// SPDX-License-Identifier: MIT
// Complete contests of two candidates with a known truth: the same kernel twice, and a kernel against itself slowed.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <list>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"
#include "base/hash.h"
#include "busy_neighbour.h"
#include "device/device_kind.h"
#include "report/result_table.h"
#include "search/contest.h"
#include "slowed_solver.h"
#include "workbench.h"

namespace attune::experiments {
namespace {

/// Kernels of 0.1 to 0.3 ms, of both thread pools and both types; `share` of the trials, in twentieths. OpenBLAS gets
/// few: with a busy neighbour its threads wait for each other, and a trial takes 9 s instead of 1.
struct Kernel {
  std::string_view problem, solver;
  size_t share;
};
constexpr std::array<Kernel, 4> kKernels = {{{"gemm_a16w16 m=8 n=896 k=896 dtype=fp32", "onednn.gemm", 6},
                                             {"gemm_a16w16 m=1 n=1152 k=896 dtype=fp32", "openblas.gemm", 2},
                                             {"gemm_a16w16 m=128 n=1152 k=896 dtype=bf16", "onednn.gemm", 6},
                                             {"gemm_a16w16 m=2 n=960 k=576 dtype=fp32", "onednn.gemm", 6}}};

/// For a GPU: 5 to 100 µs, both bound by memory and by arithmetic.
constexpr std::array<Kernel, 4> kGpuKernels = {{{"gemm_a16w16 m=1 n=2048 k=3072 dtype=bf16", "cublaslt.gemm", 5},
                                                {"gemm_a16w16 m=16 n=1536 k=7168 dtype=bf16", "cublaslt.gemm", 5},
                                                {"gemm_a16w16 m=128 n=4096 k=4096 dtype=bf16", "cublaslt.gemm", 5},
                                                {"gemm_a16w16 m=1024 n=4096 k=7168 dtype=bf16", "cublaslt.gemm", 5}}};

/// Number of concurrent contests; each waits its 5 s between finals and confirm while others are measured.
constexpr size_t kTogether = 24;

struct Tally {
  size_t num_trials = 0, num_faster = 0, num_tie = 0, num_baseline = 0, num_undecided = 0, num_noisy = 0;
  uint64_t num_samples = 0, num_dirty = 0;
  double log_ratio_sum = 0;

  void add(const Tally& other) {
    num_trials += other.num_trials;
    num_faster += other.num_faster;
    num_tie += other.num_tie;
    num_baseline += other.num_baseline;
    num_undecided += other.num_undecided;
    num_noisy += other.num_noisy;
    num_samples += other.num_samples;
    num_dirty += other.num_dirty;
    log_ratio_sum += other.log_ratio_sum;
  }
};

struct Duel {
  Problem problem;
  Candidate baseline, challenger;
  size_t num_trials = 0;
  Settings settings{};
  uint32_t multiple_of_launches = 1;  ///< See make_slowed().
};

/// Runs many contests of one pair on one executor, a few at a time.
class Duels {
 public:
  Duels(Executor& executor, Duel duel) : executor_(executor), duel_(std::move(duel)) {}

  Tally play() {
    open_problem(executor_, kId, duel_.problem, race_options(duel_.settings).protocol);
    std::list<Trial> active;
    size_t num_begun = 0;
    while (num_begun < duel_.num_trials || !active.empty()) {
      const double now_s = steady_clock().now_s();
      const auto ready = std::find_if(active.begin(), active.end(),
                                      [&](const Trial& t) { return t.ready_at_s <= now_s && !t.needs_fresh_worker; });
      if (ready != active.end()) {
        if (step(*ready)) active.erase(ready);
      } else if (num_begun < duel_.num_trials && active.size() < kTogether) {
        active.push_back(begin(num_begun++));
      } else if (std::any_of(active.begin(), active.end(), [](const Trial& t) { return t.needs_fresh_worker; })) {
        recycle(active);
      } else {
        steady_clock().sleep_s(0.02);
      }
    }
    executor_.close(kId);
    return tally_;
  }

 private:
  static constexpr ProblemId kId = 0;
  struct Trial {
    Contest contest;
    Slot baseline = 0, challenger = 0;
    std::map<Slot, uint32_t> batch;
    double ready_at_s = 0, finals_began_s = 0;
    bool needs_fresh_worker = false;
  };

  /// Plans are prepared anew for all trials; those that wait for it continue.
  void recycle(std::list<Trial>& active) {
    attune::recycle(executor_);
    for (Trial& trial : active) {
      if (std::exchange(trial.needs_fresh_worker, false)) trial.contest.renewed();
    }
  }

  /// Makes both plans anew for every trial, so that the effect of one placement in memory does not last.
  Slot admit(const Candidate& candidate, std::map<Slot, uint32_t>& batch) {
    const Slot slot = next_slot_++;
    const auto admitted = attune::admit(executor_, {kId, slot, {.candidate = candidate, .verify = slot < 2}});
    if (!admitted.verified.ok())
      fail(ErrorCode::unavailable, "{} does not work here: {}", candidate.name(), admitted.verified.detail);
    batch[slot] = admitted.batch;
    timing_ = admitted.timing;
    return slot;
  }

  Trial begin(size_t number) {
    ContestOptions options = race_options(duel_.settings).contest;
    options.seed = derive_seed(duel_.settings.seed, std::to_string(number));
    Trial trial{.contest = Contest(options)};
    // The one prepared first may get the better place.
    const bool baseline_first = number % 2 == 0;
    if (baseline_first) trial.baseline = admit(duel_.baseline, trial.batch);
    trial.challenger = admit(duel_.challenger, trial.batch);
    if (!baseline_first) trial.baseline = admit(duel_.baseline, trial.batch);
    // One kernel has one batch, regardless of its first run.
    uint32_t& batch = trial.batch[trial.baseline];
    batch = (batch + duel_.multiple_of_launches - 1) / duel_.multiple_of_launches * duel_.multiple_of_launches;
    trial.batch[trial.challenger] = batch;
    return trial;
  }

  bool step(Trial& trial) {
    const ContestRequest want = trial.contest.next();
    if (std::holds_alternative<WantEntrants>(want)) {
      trial.contest.join({.slot = trial.baseline, .name = "baseline", .baseline = true});
      trial.contest.join({.slot = trial.challenger, .name = "challenger"});
      trial.contest.close();
    } else if (const auto* samples = std::get_if<WantSamples>(&want)) {
      sample(trial, samples->schedule);
    } else if (const auto* delay = std::get_if<WantDelay>(&want)) {
      const double until = trial.finals_began_s + delay->seconds;
      if (steady_clock().now_s() >= until)
        trial.contest.delayed();
      else
        trial.ready_at_s = until;
    } else if (std::holds_alternative<WantFreshWorker>(want)) {
      trial.needs_fresh_worker = true;
    } else {
      end(trial);
      return true;
    }
    return false;
  }

  void sample(Trial& trial, std::vector<Turn> schedule) {
    if (trial.contest.phase() == Phase::finals && trial.finals_began_s == 0)
      trial.finals_began_s = steady_clock().now_s();
    for (Turn& turn : schedule) {
      turn.launches = trial.batch.at(turn.slot);
      turn.timing = timing_;
    }
    const auto sampled = attune::sample(executor_, {std::move(schedule)});
    if (!sampled.failed.empty())
      fail(ErrorCode::unavailable, "a kernel of the experiment failed: {}", sampled.failed.front().second.detail);
    tally_.num_samples += sampled.samples.size();
    for (const Sample& one : sampled.samples) tally_.num_dirty += one.dirty;
    trial.contest.report(sampled.samples);
  }

  void end(Trial& trial) {
    const ContestResult result = trial.contest.result();
    ++tally_.num_trials;
    tally_.num_undecided += !result.decided;
    tally_.num_faster += result.decided && result.verdict == Verdict::faster;
    tally_.num_tie += result.decided && result.verdict == Verdict::tie;
    tally_.num_baseline += result.decided && result.verdict == Verdict::baseline;
    tally_.num_noisy += result.noisy;
    for (const FinalistResult& finalist : result.finalists) {
      if (finalist.slot == trial.challenger) tally_.log_ratio_sum += std::log(finalist.comparison.ratio);
    }
    executor_.drop(trial.baseline);
    executor_.drop(trial.challenger);
  }

  Executor& executor_;
  Duel duel_;
  Tally tally_;
  Slot next_slot_ = 0;
  Timing timing_ = Timing::clock;  ///< Of both, which are one kernel.
};

/// Returns a solver's default config for a problem as a candidate.
Candidate default_candidate(Workbench& bench, const Problem& problem, std::string_view solver) {
  const auto opened = open_problem(*bench.executor, 0, problem, {});
  bench.executor->close(0);
  for (const Contender& contender : opened.contenders) {
    if (contender.solver == solver && contender.support.yes)
      return {contender.solver, contender.version, contender.default_config};
  }
  fail(ErrorCode::unavailable, "the experiment wants this solver, build it: {}", solver);
}

/// Several kernels under one condition.
struct Series {
  std::string label;
  Tally all;
  std::vector<std::pair<std::string, Tally>> by_kernel;
  double others_share = 0;
};

nlohmann::ordered_json json_of(const Tally& tally) {
  return {{"trials", tally.num_trials},
          {"faster", tally.num_faster},
          {"tie", tally.num_tie},
          {"baseline", tally.num_baseline},
          {"undecided", tally.num_undecided},
          {"noisy", tally.num_noisy},
          {"samples", tally.num_samples},
          {"dirty", tally.num_dirty},
          {"mean_ratio", std::exp(tally.log_ratio_sum / static_cast<double>(tally.num_trials))}};
}

std::string row_of(std::string_view label, std::string_view kernel, const Tally& tally) {
  const Frequency faster = frequency(tally.num_faster, tally.num_trials);
  return fmt::format("| {} | {} | {} | {:.1f} % [{:.1f}, {:.1f}] | {} / {} / {} | {} | {:.3f} | {:.0f} | {:.1f} % |\n",
                     label, kernel, tally.num_trials, 100 * faster.share, 100 * faster.low, 100 * faster.high,
                     tally.num_tie, tally.num_baseline, tally.num_undecided, tally.num_noisy,
                     std::exp(tally.log_ratio_sum / static_cast<double>(tally.num_trials)),
                     static_cast<double>(tally.num_samples) / static_cast<double>(tally.num_trials),
                     100 * static_cast<double>(tally.num_dirty) / static_cast<double>(tally.num_samples));
}

Findings findings_of(const std::vector<Series>& all) {
  std::string text =
      "| condition | kernel | trials | called faster, 95 % interval | tie / baseline / undecided | noisy | mean ratio "
      "| "
      "samples a trial | dirty |\n|---|---|---|---|---|---|---|---|---|\n";
  auto list = nlohmann::ordered_json::array();
  for (const Series& series : all) {
    nlohmann::ordered_json json = json_of(series.all);
    json["condition"] = series.label;
    json["others_share"] = series.others_share;
    text += row_of(series.label, "**all**", series.all);
    for (const auto& [kernel, tally] : series.by_kernel) {
      text += row_of(series.label, kernel, tally);
      json["kernels"][kernel] = json_of(tally);
    }
    list.push_back(json);
  }
  for (const Series& series : all)
    text += fmt::format("\n{}: other processes used {:.1f} % of the processors.\n", series.label,
                        100 * series.others_share);
  return {text, list.dump(2)};
}

std::string kernel_name(const Problem& problem, const Candidate& candidate) {
  return fmt::format("{} {}", short_shape(problem), candidate.solver.substr(0, candidate.solver.find('.')));
}

void tell(std::string_view label, const std::string& kernel, const Tally& tally, double seconds) {
  fmt::print(stderr, "  {} {}: faster {} of {}, {:.1f} s\n", label, kernel, tally.num_faster, tally.num_trials,
             seconds);
}

bool is_host(const Settings& settings) {
  const DeviceKind* const kind = find_device_kind(settings.device);
  return kind == nullptr || kind->name == "host";
}

std::span<const Kernel> kernels(const Settings& settings) {
  const std::span<const Kernel> all = is_host(settings) ? kKernels : kGpuKernels;
  return all.first(settings.quick ? 2 : all.size());
}

size_t trials_of(const Kernel& kernel, const Settings& settings) {
  const size_t wanted = settings.num_trials > 0 ? settings.num_trials : settings.quick ? 10 : 200;
  return std::max<size_t>(1, wanted * kernel.share / 20);
}

}  // namespace

Findings measure_aa(const Settings& settings) {
  Workbench bench(settings);
  std::vector<Series> all;
  for (const Condition condition : {Condition::quiet, Condition::neighbour}) {
    if (condition == Condition::neighbour && !is_host(settings)) continue;  // It would compute on other processors.
    Series& series = all.emplace_back();
    series.label = name(condition);
    const LoadMeter load(condition == Condition::quiet ? settings.quiet_wait_s : 0);
    const BusyNeighbour neighbour(condition);
    for (const Kernel& kernel : kernels(settings)) {
      const double began_s = steady_clock().now_s();
      const auto problem = items_of(std::span(&kernel.problem, 1), {}, bench.device->info()).front().problem;
      const Candidate candidate = default_candidate(bench, problem, kernel.solver);
      const Tally tally =
          Duels(*bench.executor, {problem, candidate, candidate, trials_of(kernel, settings), settings}).play();
      series.by_kernel.emplace_back(kernel_name(problem, candidate), tally);
      series.all.add(tally);
      tell(series.label, series.by_kernel.back().first, tally, steady_clock().now_s() - began_s);
    }
    series.others_share = load.others_share();
  }
  return findings_of(all);
}

Findings measure_slowed(const Settings& settings) {
  std::vector<Series> all;
  const std::pair<std::string_view, double> cases[] = {{"slowed by 5 %", 0.05}, {"slowed by 2 %", 0.02}};
  for (const auto& [label, slow_by] : cases) {
    Series& series = all.emplace_back();
    series.label = label;
    const LoadMeter load(settings.quiet_wait_s);
    for (const Kernel& kernel : kernels(settings)) {
      const double began_s = steady_clock().now_s();
      const Solver* inner = registry().find(kernel.solver);
      if (inner == nullptr)
        fail(ErrorCode::unavailable, "the experiment wants this solver, build it: {}", kernel.solver);
      Registry solvers;
      // On a stream a slowed plan launches its kernel once more in every so many launches.
      const auto repeats = is_host(settings) ? 1u : static_cast<uint32_t>(std::lround(1 / slow_by));
      solvers.add(make_slowed("plain.gemm", *inner, 0));
      solvers.add(make_slowed("slowed.gemm", *inner, slow_by));
      Workbench bench(settings, solvers);
      const auto problem = items_of(std::span(&kernel.problem, 1), {}, bench.device->info()).front().problem;
      const Candidate slowed = default_candidate(bench, problem, "slowed.gemm");
      const Candidate plain = default_candidate(bench, problem, "plain.gemm");
      const Tally tally =
          Duels(*bench.executor, {problem, slowed, plain, trials_of(kernel, settings), settings, repeats}).play();
      series.by_kernel.emplace_back(fmt::format("{} {}", short_shape(problem), kernel.solver), tally);
      series.all.add(tally);
      tell(label, series.by_kernel.back().first, tally, steady_clock().now_s() - began_s);
    }
    series.others_share = load.others_share();
  }
  return findings_of(all);
}

}  // namespace attune::experiments
