// SPDX-License-Identifier: MIT
// Compares the race with the oracle that measures every candidate 5 + 101 times.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/hash.h"
#include "recorded_noise.h"
#include "report/result_table.h"
#include "search/contest.h"
#include "tuner/interleaved.h"
#include "workbench.h"

namespace attune::experiments {
namespace {

/// Problems of at most 2 ms with 100 to 400 candidates; M from 1 to 256, tall, wide and deep.
constexpr std::array<std::string_view, 12> kProblems = {
    "gemm_a16w16 m=12 n=576 k=1536 dtype=fp32",         "gemm_a16w16 m=16 n=2048 k=2048 dtype=bf16",
    "gemm_a16w16 m=64 n=1152 k=896 dtype=fp32 bias=1",  "gemm_a16w16 m=2 n=960 k=576 dtype=fp32",
    "gemm_a16w16 m=4 n=3072 k=576 dtype=fp32",          "gemm_a16w16 m=8 n=896 k=896 dtype=fp32",
    "gemm_a16w16 m=16 n=384 k=7168 dtype=fp32",         "gemm_a16w16 m=128 n=896 k=896 dtype=fp32",
    "gemm_a16w16 m=32 n=576 k=576 dtype=fp32",          "gemm_a16w16 m=1 n=2048 k=2048 dtype=bf16",
    "gemm_a16w16 m=128 n=1152 k=896 dtype=bf16 bias=1", "gemm_a16w16 m=256 n=3072 k=576 dtype=bf16"};
/// Twelve of the 60 of shapes/gpu_untuned_gemm.csv, two of each class of M.
constexpr std::array<std::string_view, 12> kGpuProblems = {
    "gemm_a16w16 m=1 n=2048 k=3072 dtype=bf16",   "gemm_a16w16 m=1 n=5120 k=3200 dtype=bf16",
    "gemm_a16w16 m=2 n=2048 k=1024 dtype=bf16",   "gemm_a16w16 m=4 n=2048 k=3072 dtype=bf16",
    "gemm_a16w16 m=32 n=2048 k=7168 dtype=bf16",  "gemm_a16w16 m=64 n=800 k=5120 dtype=bf16",
    "gemm_a16w16 m=96 n=32768 k=1536 dtype=bf16", "gemm_a16w16 m=240 n=256 k=4096 dtype=bf16",
    "gemm_a16w16 m=336 n=2048 k=3072 dtype=bf16", "gemm_a16w16 m=516 n=8192 k=512 dtype=bf16",
    "gemm_a16w16 m=2635 n=8192 k=512 dtype=bf16", "gemm_a16w16 m=15744 n=4096 k=1024 dtype=bf16"};
constexpr uint32_t kOracleTurns = 5 + 101;

struct ShapeRegret {
  Problem problem;
  size_t num_candidates = 0;
  uint64_t max_trials = 0;  ///< Per solver, in the race.
  Candidate best, winner;
  Verdict verdict = Verdict::baseline;
  double best_us = 0, regret = 0;  ///< From the oracle's own medians.
  double fresh_regret = 0, fresh_low = 0,
         fresh_high = 0;  ///< Winner over best on fresh samples, and its 95 % interval.
  uint64_t race_launches = 0, oracle_launches = 0;
  double race_turns = 0, race_s = 0, oracle_s = 0;

  double launch_share() const { return static_cast<double>(race_launches) / static_cast<double>(oracle_launches); }
};

/// Counts the timed turns of a problem: each candidate's longest evidence, which contains its earlier ones.
double count_turns(const Journal& journal, const Problem& problem) {
  std::map<std::string, size_t> turns;
  journal.scan({.problem = problem, .started = false, .decisions = false, .pardons = false}, [&](const Entry& entry,
                                                                                                 const Stamp&) {
    const auto& record = std::get<Record>(entry);
    if (!record.outcome.measurement) return;
    size_t& max = turns[record.candidate.name()];
    max = std::max(max, record.outcome.measurement->samples.size() + record.outcome.measurement->dropped_samples);
  });
  double sum = 0;
  for (const auto& [candidate, count] : turns) sum += static_cast<double>(count);
  return sum;
}

ShapeRegret compare(const Decision& race, const Decision& oracle, double race_turns, const Settings& settings) {
  ShapeRegret found;
  found.problem = race.problem;
  found.num_candidates = settings.oracle_trials > 0 ? settings.oracle_trials : oracle.finalists.size();
  found.best = oracle.winner;
  found.best_us = oracle.comparison.us;
  found.winner = race.winner;
  found.verdict = race.verdict;
  const auto same = std::find_if(oracle.finalists.begin(), oracle.finalists.end(),
                                 [&](const Finalist& one) { return one.candidate == race.winner; });
  // An oracle that races has the times of its finalists; the duel is what counts there.
  if (same == oracle.finalists.end() && !settings.oracle_trials)
    fail(ErrorCode::unavailable, "the oracle has no time of the race's winner: {}", race.winner.name());
  if (same != oracle.finalists.end()) found.regret = same->comparison.us / oracle.comparison.us - 1;
  found.race_launches = race.launches;
  found.oracle_launches = oracle.launches;
  found.race_turns = race_turns;
  return found;
}

/// Totals of the rows with one limit of trials.
struct Totals {
  size_t num_shapes = 0, max_candidates = 0;
  /// `clipped`: of the regrets on fresh samples, each at least 0, so that a lucky shape makes up for no other.
  double regret = 0, fresh_regret = 0, clipped = 0, worst = 0, launch_share = 0, turn_share = 0;
};
Totals totals(const std::vector<ShapeRegret>& rows, uint64_t max_trials) {
  Totals sum;
  for (const ShapeRegret& row : rows) {
    if (row.max_trials != max_trials) continue;
    ++sum.num_shapes;
    sum.regret += row.regret;
    sum.fresh_regret += row.fresh_regret;
    sum.clipped += std::max(0.0, row.fresh_regret);
    sum.worst = std::max(sum.worst, row.fresh_regret);
    sum.launch_share += row.launch_share();
    sum.turn_share += row.race_turns / kOracleTurns / static_cast<double>(row.num_candidates);
  }
  const double count = std::max<double>(1, static_cast<double>(sum.num_shapes));
  sum.regret /= count;
  sum.fresh_regret /= count;
  sum.clipped /= count;
  sum.launch_share /= count;
  sum.turn_share /= count;
  return sum;
}

/// Times the race's winner beside the oracle's best on fresh samples. The oracle's own medians favour its luckiest
/// candidate, and would count that luck as the race's regret.
void duel(Workbench& bench, const Settings& settings, ShapeRegret& row, const Protocol& protocol) {
  if (row.winner == row.best) return;
  const std::array<Candidate, 2> pair = {row.winner, row.best};
  const auto timed = time_interleaved(
      *bench.executor, row.problem, pair,
      {.protocol = protocol, .rounds = kOracleTurns, .seed = settings.seed + 2, .kernels = bench.kernels.get()});
  for (const TimedCandidate& one : timed) {
    if (!one.outcome.ok()) fail(ErrorCode::unavailable, "{}: {}", one.candidate.name(), one.outcome.detail);
  }
  row.fresh_regret = timed[1].comparison.ratio - 1;
  row.fresh_low = timed[1].comparison.interval.low - 1;
  row.fresh_high = timed[1].comparison.interval.high - 1;
}

std::vector<ShapeRegret> regrets_of_real_kernels(const Settings& settings) {
  Workbench bench(settings);
  const bool is_host = bench.device->threads() != nullptr;
  const std::span<const std::string_view> problems = is_host ? kProblems : kGpuProblems;
  const size_t count = settings.quick ? 3 : problems.size();
  std::vector<ShapeRegret> rows;
  for (const WorkItem& item : items_of(problems.first(count), settings, bench.device->info())) {
    const auto oracle_journal = open_memory_journal();
    TunerOptions of_oracle = settings.oracle_trials > 0 ? race_options(settings) : exhaustive_options(settings, 101);
    if (settings.oracle_trials > 0) of_oracle.strategy.max_trials = settings.oracle_trials;
    const auto oracle = tune(bench, {item}, of_oracle, *oracle_journal).front();
    for (const uint64_t max_trials : settings.max_trials) {
      const auto race_journal = open_memory_journal();
      TunerOptions options = race_options(settings);
      if (max_trials > 0) options.strategy.max_trials = max_trials;
      const auto race = tune(bench, {item}, options, *race_journal).front();
      rows.push_back(compare(*race.decision, *oracle.decision, count_turns(*race_journal, item.problem), settings));
      duel(bench, settings, rows.back(), race.decision->protocol);
      rows.back().max_trials = options.strategy.max_trials;
      rows.back().race_s = race.seconds;
      rows.back().oracle_s = oracle.seconds;
    }
  }
  return rows;
}

std::set<uint64_t> limits_of(const std::vector<ShapeRegret>& rows) {
  std::set<uint64_t> limits;
  for (const ShapeRegret& row : rows) limits.insert(row.max_trials);
  return limits;
}

std::string real_markdown(const std::vector<ShapeRegret>& rows, double others_share) {
  std::string text =
      "| shape | candidates | candidates per solver, at most | oracle's best | µs | race's winner | verdict | regret, "
      "fresh "
      "samples | by the oracle's "
      "medians | launches race / oracle | share | seconds |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const ShapeRegret& row : rows) {
    text += fmt::format(
        "| {} | {} | {} | {} | {:.1f} | {} | {} | {:.2f} % [{:.1f}, {:.1f}] | {:.2f} % | {} / {} | {:.0f} % | {:.0f} / "
        "{:.0f} "
        "|\n",
        short_shape(row.problem), row.num_candidates, row.max_trials, short_candidate(row.best), row.best_us,
        row.winner == row.best ? "the same" : short_candidate(row.winner), name(row.verdict), 100 * row.fresh_regret,
        100 * row.fresh_low, 100 * row.fresh_high, 100 * row.regret, row.race_launches, row.oracle_launches,
        100 * row.launch_share(), row.race_s, row.oracle_s);
  }
  text +=
      "\n| candidates per solver, at most | shapes | mean regret, fresh samples, each shape at least 0 | "
      "not clipped | worst | by the oracle's medians | share of the launches | share of 106 samples each |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const uint64_t max_trials : limits_of(rows)) {
    const Totals sum = totals(rows, max_trials);
    text += fmt::format("| {} | {} | {:.2f} % | {:.2f} % | {:.2f} % | {:.2f} % | {:.0f} % | {:.0f} % |\n", max_trials,
                        sum.num_shapes, 100 * sum.clipped, 100 * sum.fresh_regret, 100 * sum.worst, 100 * sum.regret,
                        100 * sum.launch_share, 100 * sum.turn_share);
  }
  return text + fmt::format("\nOther processes used {:.1f} % of the processors.\n", 100 * others_share);
}

struct Replay {
  Condition condition = Condition::quiet;
  size_t num_candidates = 0, num_trials = 0, num_baseline = 0, num_noisy = 0;
  double regret = 0, worst = 0, share = 0;
};

ContestResult play(Contest& contest, RecordedWorld& world, const std::vector<Entrant>& entrants) {
  for (size_t joined = 0;;) {
    const ContestRequest want = contest.next();
    if (std::holds_alternative<ContestEnd>(want)) return contest.result();
    if (const auto* request = std::get_if<WantEntrants>(&want)) {
      for (uint32_t i = 0; i < request->max_count && joined < entrants.size(); ++i) contest.join(entrants[joined++]);
      if (joined == entrants.size()) contest.close();
    } else if (const auto* samples = std::get_if<WantSamples>(&want)) {
      std::vector<Sample> measured;
      for (const Turn& turn : samples->schedule) measured.push_back(world.sample(turn.slot));
      contest.report(measured);
    } else {
      world.skip();
      if (std::holds_alternative<WantFreshWorker>(want))
        contest.renewed();
      else
        contest.delayed();
    }
  }
}

/// Plants times like attune_procedure_simulation: |N(0, 0.4)| above the best possible one.
Replay replay(Condition condition, const std::vector<NoiseSample>& noise, size_t num_candidates, size_t num_trials,
              uint64_t first_seed) {
  Replay found{.condition = condition, .num_candidates = num_candidates, .num_trials = num_trials};
  for (uint64_t seed = first_seed; seed < first_seed + num_trials; ++seed) {
    Random random(derive_seed(seed, "planted times"));
    std::map<Slot, double> times;
    std::vector<Entrant> entrants;
    for (Slot slot = 0; slot < num_candidates; ++slot) {
      times[slot] = 100 * (1 + std::abs(0.4 * random.normal()));
      entrants.push_back({.slot = slot, .name = fmt::format("c{}", slot), .baseline = slot == 0});
    }
    const double best = std::min_element(times.begin(), times.end(), [](const auto& a, const auto& b) {
                          return a.second < b.second;
                        })->second;
    RecordedWorld world(times, noise, derive_seed(seed, name(condition)));
    ContestOptions options;
    options.seed = seed;
    Contest contest(options);
    const ContestResult result = play(contest, world, entrants);
    const double regret = times.at(result.winner) / best - 1;
    found.regret += regret / static_cast<double>(num_trials);
    found.worst = std::max(found.worst, regret);
    found.share +=
        static_cast<double>(world.num_samples()) / kOracleTurns / static_cast<double>(num_candidates * num_trials);
    found.num_baseline += result.verdict != Verdict::faster;
    found.num_noisy += result.noisy;
  }
  return found;
}

std::vector<Replay> replay_all(const Settings& settings) {
  std::vector<Replay> found;
  for (const auto& [condition, noise] : read_noise(settings.noise)) {
    for (const auto& [num_candidates, num_trials] : {std::pair<size_t, size_t>{30, 300}, {100, 150}, {400, 60}}) {
      found.push_back(replay(condition, noise, num_candidates, settings.quick ? 6 : num_trials, settings.seed));
    }
  }
  return found;
}

nlohmann::ordered_json json_of(const std::vector<ShapeRegret>& rows) {
  auto list = nlohmann::ordered_json::array();
  for (const ShapeRegret& row : rows) {
    list.push_back({{"problem", row.problem.key()},
                    {"candidates", row.num_candidates},
                    {"max_trials", row.max_trials},
                    {"race_s", row.race_s},
                    {"oracle_s", row.oracle_s},
                    {"oracle_launches", row.oracle_launches},
                    {"oracle_best", row.best.name()},
                    {"oracle_us", row.best_us},
                    {"race_winner", row.winner.name()},
                    {"verdict", name(row.verdict)},
                    {"regret", row.fresh_regret},
                    {"regret_interval", {row.fresh_low, row.fresh_high}},
                    {"regret_by_oracle", row.regret},
                    {"race_launches", row.race_launches},
                    {"race_samples", row.race_turns}});
  }
  return list;
}

}  // namespace

Findings measure_regret(const Settings& settings) {
  const LoadMeter load(settings.quiet_wait_s);
  const auto rows = regrets_of_real_kernels(settings);
  const double others = load.others_share();
  const auto replays = replay_all(settings);
  const Totals all = totals(rows, *limits_of(rows).begin());
  nlohmann::ordered_json json = {{"others_share", others},
                                 {"mean_regret", all.clipped},
                                 {"mean_regret_not_clipped", all.fresh_regret},
                                 {"mean_regret_by_oracle", all.regret},
                                 {"mean_launch_share", all.launch_share},
                                 {"shapes", json_of(rows)},
                                 {"replays", nlohmann::ordered_json::array()}};
  std::string text = real_markdown(rows, others);
  text +=
      "\n| recorded noise | candidates | trials | mean regret | worst | share of 106 samples each | not faster | noisy "
      "|\n|---|---|---|---|---|---|---|---|\n";
  for (const Replay& one : replays) {
    text += fmt::format("| {} | {} | {} | {:.2f} % | {:.2f} % | {:.1f} % | {} | {} |\n", name(one.condition),
                        one.num_candidates, one.num_trials, 100 * one.regret, 100 * one.worst, 100 * one.share,
                        one.num_baseline, one.num_noisy);
    json["replays"].push_back({{"condition", name(one.condition)},
                               {"candidates", one.num_candidates},
                               {"trials", one.num_trials},
                               {"mean_regret", one.regret},
                               {"worst_regret", one.worst},
                               {"sample_share", one.share},
                               {"not_faster", one.num_baseline},
                               {"noisy", one.num_noisy}});
  }
  return {text, json.dump(2)};
}

}  // namespace attune::experiments
