// SPDX-License-Identifier: MIT
// Measures the gain of tuning the shipped shapes: times each winner beside every library's default config, interleaved,
// on fresh samples. One run chooses each shape's best default config, two later ones compare the winner with it.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "core/statistics.h"
#include "measure/operands/rotation.h"
#include "measured_peak.h"
#include "ops/op.h"
#include "report/result_table.h"
#include "tuner/interleaved.h"
#include "workbench.h"

namespace attune::experiments {
namespace {

constexpr double kNormal95 = 1.96;
constexpr size_t kNumComparisons = 2;  // Runs after the one that chooses the best default.

/// A ratio of times with its 95 % interval.
struct Ratio {
  double value = 1, low = 1, high = 1;
};

/// Returns slower / faster from samples of the same rounds that are both clean.
Ratio paired_ratio(const TimedCandidate& slower, const TimedCandidate& faster) {
  const auto &a = slower.outcome.measurement->samples, &b = faster.outcome.measurement->samples;
  std::vector<double> logs;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (!a[i].dirty && !b[i].dirty && a[i].us > 0 && b[i].us > 0) logs.push_back(std::log(a[i].us / b[i].us));
  }
  if (logs.empty()) return {};
  const auto [low, high] = median_interval(logs);
  return {std::exp(median(logs)), std::exp(low), std::exp(high)};
}

struct Row {
  Decision decision;
  Candidate best_default;
  double onednn_us = 0, best_default_us = 0, winner_us = 0, bytes_us = 0, flops = 0;
  double roofline_us = 0;  ///< The larger of operations at the measured peak and bytes at the measured bandwidth.
  Ratio over_onednn, over_best[kNumComparisons];
  double share() const { return roofline_us / winner_us; }
  /// Whether the winner is slower than the best default, beyond the interval of every comparison.
  bool is_slower() const {
    return std::all_of(std::begin(over_best), std::end(over_best), [](const Ratio& ratio) { return ratio.high < 1; });
  }
};

bool is_generated(const Candidate& candidate) { return candidate.solver.starts_with("jit_"); }

/// Libraries' default configs are what users run today; the program's own kernels do not count.
bool is_library(const Candidate& candidate) { return !is_generated(candidate) && candidate.solver != "portable.gemm"; }

const TimedCandidate* find(const std::vector<TimedCandidate>& timed, const Candidate& candidate) {
  const auto found =
      std::find_if(timed.begin(), timed.end(), [&](const TimedCandidate& one) { return one.candidate == candidate; });
  return found != timed.end() && found->outcome.ok() && found->outcome.measurement ? &*found : nullptr;
}

double median_us(const TimedCandidate& one) { return one.outcome.measurement->median_us; }

/// Returns the default configs of the libraries that take the problem.
std::vector<Candidate> default_of(Workbench& bench, const Decision& decision) {
  std::vector<Candidate> default_config;
  for (const Contender& one : open_problem(*bench.executor, 0, decision.problem, decision.protocol).contenders) {
    const Candidate candidate{one.solver, one.version, one.default_config};
    if (one.support.yes && is_library(candidate)) default_config.push_back(candidate);
  }
  bench.executor->close(0);
  return default_config;
}

/// Returns the fastest of the default configs in a run, or null.
const TimedCandidate* fastest(const std::vector<TimedCandidate>& timed, const std::vector<Candidate>& default_config) {
  const TimedCandidate* best = nullptr;
  for (const Candidate& candidate : default_config) {
    const TimedCandidate* one = find(timed, candidate);
    if (one != nullptr && (best == nullptr || median_us(*one) < median_us(*best))) best = one;
  }
  return best;
}

/// Bytes at the bandwidth measured for this working set.
double bytes_us(Device& device, const Decision& decision) {
  const Op& op = op_of(decision.problem);
  const auto size = size_rotation(op.tensors(decision.problem), decision.protocol.cache, device.info().cache_bytes);
  double bytes = op.work(decision.problem).bytes;
  if (decision.protocol.cache == CachePolicy::served) bytes = std::min(bytes, static_cast<double>(size.copy_bytes));
  return bytes / (device.bandwidth_gbs(size.bytes(), Reading::remembered) * 1e3);
}

Row measure(Workbench& bench, const Decision& decision, const Settings& settings) {
  Row row{.decision = decision};
  const std::vector<Candidate> default_config = default_of(bench, decision);
  std::vector<Candidate> all = default_config;
  if (std::find(all.begin(), all.end(), decision.winner) == all.end()) all.push_back(decision.winner);
  const auto run = [&](uint64_t number) {
    return time_interleaved(*bench.executor, decision.problem, all,
                            {.protocol = decision.protocol,
                             .rounds = settings.quick ? 21u : 61u,
                             .seed = settings.seed + 1 + number,
                             .kernels = bench.kernels.get()});
  };
  const auto choice = run(0);
  const auto onednn = std::find_if(default_config.begin(), default_config.end(),
                                   [](const Candidate& one) { return one.solver == "onednn.gemm"; });
  const TimedCandidate* best = fastest(choice, default_config);
  if (best == nullptr || onednn == default_config.end())
    fail(ErrorCode::unavailable, "the winner and untuned oneDNN must both run: {}", decision.problem.key());
  row.best_default = best->candidate;
  for (size_t i = 0; i < kNumComparisons; ++i) {
    const auto timed = run(i + 1);
    const TimedCandidate *default_one = find(timed, row.best_default), *winner = find(timed, decision.winner),
                         *baseline = find(timed, *onednn);
    if (default_one == nullptr || winner == nullptr || baseline == nullptr)
      fail(ErrorCode::unavailable, "the winner and untuned oneDNN must both run: {}", decision.problem.key());
    if (winner != default_one) row.over_best[i] = paired_ratio(*default_one, *winner);
    if (i > 0) continue;
    if (winner != baseline) row.over_onednn = paired_ratio(*baseline, *winner);
    row.onednn_us = median_us(*baseline);
    row.best_default_us = median_us(*default_one);
    row.winner_us = median_us(*winner);
  }
  row.bytes_us = bytes_us(*bench.device, decision);
  row.flops = op_of(decision.problem).work(decision.problem).flops;
  return row;
}

/// Geometric mean. Its interval comes from the rows' intervals: it covers the machine's noise, not the choice of
/// shapes.
Ratio mean_of(const std::vector<Row>& rows, const std::function<Ratio(const Row&)>& ratio_of) {
  double sum = 0, variance = 0;
  for (const Row& row : rows) {
    const Ratio ratio = ratio_of(row);
    sum += std::log(ratio.value);
    const double error = std::log(ratio.high / ratio.low) / (2 * kNormal95);
    variance += error * error;
  }
  const auto count = static_cast<double>(rows.size());
  const double mean = sum / count, error = std::sqrt(variance) / count;
  return {std::exp(mean), std::exp(mean - kNormal95 * error), std::exp(mean + kNormal95 * error)};
}

std::vector<std::pair<std::string, std::vector<Row>>> grouped(const std::vector<Row>& rows) {
  std::vector<std::pair<std::string, std::vector<Row>>> groups;
  const auto add = [&](std::string label, auto wanted) {
    std::vector<Row> some;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(some), wanted);
    if (!some.empty()) groups.emplace_back(std::move(label), std::move(some));
  };
  add("all", [](const Row&) { return true; });
  for (const std::string type : {"fp32", "bf16"}) {
    const auto within = [type](int64_t min, int64_t max) {
      return [=](const Row& row) {
        const auto m = row.decision.problem.integer("m");
        return row.decision.problem.text("dtype") == type && m >= min && m <= max;
      };
    };
    constexpr int64_t kAny = INT64_MAX;
    add(type, within(1, kAny));
    add(type + ", M = 1", within(1, 1));
    add(type + ", M = 2 … 16", within(2, 16));
    add(type + ", M = 17 … 64", within(17, 64));
    add(type + ", M > 64", within(65, kAny));
  }
  return groups;
}

std::string text_of(const Ratio& ratio) {
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", ratio.value, ratio.low, ratio.high);
}

nlohmann::ordered_json json_of(const Ratio& ratio) {
  return {{"value", ratio.value}, {"low", ratio.low}, {"high", ratio.high}};
}

/// Counts the shapes where no library's default config reaches 70 % of the roofline, and those of them that a generated
/// kernel wins.
std::string unexploited(const std::vector<Row>& rows) {
  size_t open = 0, won = 0;
  for (const Row& row : rows) {
    if (row.roofline_us > 0.7 * row.best_default_us) continue;
    ++open;
    won += is_generated(row.decision.winner);
  }
  return fmt::format(
      "On {} shapes no untuned library reaches 70 % of the roofline; a generated kernel wins {} of them.\n", open, won);
}

std::string arithmetic_of(const Problem& problem) { return std::string(name(op_of(problem).work(problem).arithmetic)); }

/// Peak rates by the type that is multiplied: the highest of readings taken between the shapes, since other programs
/// slow some of them.
class PeakReadings {
 public:
  explicit PeakReadings(int num_threads) : num_threads_(num_threads) {}
  void read(const std::string& dtype) {
    double& peak = gflops_[dtype];
    peak = std::max(peak, measured_peak_gflops(dtype, num_threads_));
  }
  void set_roofline(std::vector<Row>& rows) const {
    for (Row& row : rows) {
      const double peak = gflops_.at(arithmetic_of(row.decision.problem));
      row.roofline_us = std::max(row.bytes_us, peak > 0 ? row.flops / (peak * 1e3) : 0);
    }
  }
  const std::map<std::string, double>& gflops() const { return gflops_; }

 private:
  int num_threads_;
  std::map<std::string, double> gflops_;
};

}  // namespace

Findings measure_speed(const Settings& settings) {
  Workbench bench(settings);
  const LoadMeter load(settings.quiet_wait_s);
  const auto items = shipped_items(settings, bench.device->info(), settings.quick ? 4 : 0);
  const auto journal = open_memory_journal();
  PeakReadings peaks(static_cast<int>(bench.device->info().num_units));
  std::vector<Row> rows;
  const auto began = std::chrono::steady_clock::now();
  for (const WorkItem& item : items) {
    if (settings.max_seconds > 0 &&
        std::chrono::steady_clock::now() - began > std::chrono::duration<double>(settings.max_seconds)) {
      fmt::print(stderr, "  {} of {} shapes: the time is over\n", rows.size(), items.size());
      break;
    }
    try {
      peaks.read(arithmetic_of(item.problem));
      const auto results = tune(bench, {item}, race_options(settings), *journal);
      rows.push_back(measure(bench, *results.front().decision, settings));
    } catch (const Error& error) {
      fmt::print(stderr, "  omitted: {}\n", error.what());
    }
  }
  peaks.set_roofline(rows);
  if (rows.empty()) fail(ErrorCode::unavailable, "no shape was decided and compared");
  const double others = load.others_share();
  nlohmann::ordered_json json = {{"others_share", others},
                                 {"peak_gflops", peaks.gflops()},
                                 {"groups", nlohmann::ordered_json::array()},
                                 {"shapes", nlohmann::ordered_json::array()}};
  std::string text =
      "| shapes | number | generated kernels win | of the roofline | over untuned oneDNN | over the best untuned "
      "library, run 1 | "
      "run 2 | slower in both |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const auto& [label, some] : grouped(rows)) {
    const Ratio onednn = mean_of(some, [](const Row& row) { return row.over_onednn; });
    const double share = mean_of(some, [](const Row& row) { return Ratio{row.share()}; }).value;
    const auto won =
        std::count_if(some.begin(), some.end(), [](const Row& row) { return is_generated(row.decision.winner); });
    const auto num_slower = std::count_if(some.begin(), some.end(), [](const Row& row) { return row.is_slower(); });
    nlohmann::ordered_json best = nlohmann::ordered_json::array();
    text += fmt::format("| {} | {} | {} | {:.0f} % | {} |", label, some.size(), won, 100 * share, text_of(onednn));
    for (size_t i = 0; i < kNumComparisons; ++i) {
      const Ratio ratio = mean_of(some, [i](const Row& row) { return row.over_best[i]; });
      text += fmt::format(" {} |", text_of(ratio));
      best.push_back(json_of(ratio));
    }
    text += fmt::format(" {} |\n", num_slower);
    json["groups"].push_back({{"shapes", label},
                              {"number", some.size()},
                              {"generated", won},
                              {"roofline_share", share},
                              {"over_onednn", json_of(onednn)},
                              {"over_best_default", best},
                              {"slower", num_slower}});
  }
  text += "\n" + unexploited(rows) + fmt::format("Other processes used {:.1f} % of the processors.\n\n", 100 * others);
  text +=
      "| shape | untuned oneDNN µs | best untuned | µs | winner | µs | of the roofline | over oneDNN | over the best "
      "untuned, run 1 | run 2 | verdict |\n|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const Row& row : rows) {
    text += fmt::format("| {} | {:.1f} | {} | {:.1f} | {} | {:.1f} | {:.0f} % | {} | {} | {} | {}{} |\n",
                        short_shape(row.decision.problem), row.onednn_us, row.best_default.solver, row.best_default_us,
                        short_candidate(row.decision.winner), row.winner_us, 100 * row.share(),
                        text_of(row.over_onednn), text_of(row.over_best[0]), text_of(row.over_best[1]),
                        name(row.decision.verdict), row.decision.noisy ? ", noisy" : "");
    json["shapes"].push_back({{"problem", row.decision.problem.key()},
                              {"onednn_us", row.onednn_us},
                              {"best_default", row.best_default.name()},
                              {"best_default_us", row.best_default_us},
                              {"winner", row.decision.winner.name()},
                              {"winner_us", row.winner_us},
                              {"roofline_us", row.roofline_us},
                              {"over_onednn", json_of(row.over_onednn)},
                              {"over_best_default", {json_of(row.over_best[0]), json_of(row.over_best[1])}},
                              {"verdict", name(row.decision.verdict)}});
  }
  return {text, json.dump(2)};
}

}  // namespace attune::experiments
