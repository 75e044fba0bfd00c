// SPDX-License-Identifier: MIT
// Measures the gain of tuning the shipped shapes: times each winner beside every library's untuned config, interleaved,
// on fresh samples.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/statistics.h"
#include "measure/operands/rotation.h"
#include "measure/plausibility.h"
#include "ops/op.h"
#include "report/result_table.h"
#include "tuner/interleaved.h"
#include "workbench.h"

namespace attune::experiments {
namespace {

constexpr double kFloorOfRoofline = 0.6;  // roofline_floor_us() is this share of the roofline.
constexpr double kNormal95 = 1.96;

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
  double onednn_us = 0, best_default_us = 0, winner_us = 0, roofline_us = 0;
  Ratio over_onednn, over_best;
};

bool is_generated(const Candidate& candidate) { return candidate.solver.starts_with("jit_"); }

/// Libraries' untuned configs are what users run today; the program's own kernels do not count.
bool is_library(const Candidate& candidate) { return !is_generated(candidate) && candidate.solver != "portable.gemm"; }

Row measure(Workbench& bench, const Decision& decision, const Settings& settings) {
  Row row{.decision = decision};
  std::vector<Candidate> all;
  for (const Contender& one : open_problem(*bench.executor, 0, decision.problem, decision.protocol).contenders) {
    const Candidate untuned{one.solver, one.version, one.untuned};
    if (one.support.yes && is_library(untuned)) all.push_back(untuned);
  }
  bench.executor->close(0);
  const size_t num_defaults = all.size();
  if (std::find(all.begin(), all.end(), decision.winner) == all.end()) all.push_back(decision.winner);
  const auto timed = time_interleaved(*bench.executor, decision.problem, all,
                                      {.protocol = decision.protocol,
                                       .rounds = settings.quick ? 21u : 61u,
                                       .seed = settings.seed + 1,
                                       .kernels = bench.kernels.get()});
  const TimedCandidate *onednn = nullptr, *best = nullptr, *winner = nullptr;
  for (size_t i = 0; i < timed.size(); ++i) {
    const TimedCandidate& one = timed[i];
    if (!one.outcome.ok() || !one.outcome.measurement) continue;
    if (one.candidate == decision.winner) winner = &one;
    if (i >= num_defaults) continue;
    if (one.candidate.solver == "onednn.gemm") onednn = &one;
    if (best == nullptr || one.outcome.measurement->median_us < best->outcome.measurement->median_us) best = &one;
  }
  if (onednn == nullptr || best == nullptr || winner == nullptr)
    fail(ErrorCode::unavailable, "the winner and untuned oneDNN must both run: {}", decision.problem.key());
  const Op& op = op_of(decision.problem);
  const auto size = size_rotation(op.tensors(decision.problem), CachePolicy::cold, bench.device->info().cache_bytes);
  row.roofline_us = roofline_floor_us(op.work(decision.problem), op.tensors(decision.problem).front().dtype,
                                      size.bytes(), *bench.device) /
                    kFloorOfRoofline;
  row.best_default = best->candidate;
  row.onednn_us = onednn->outcome.measurement->median_us;
  row.best_default_us = best->outcome.measurement->median_us;
  row.winner_us = winner->outcome.measurement->median_us;
  if (winner != onednn) row.over_onednn = paired_ratio(*onednn, *winner);
  if (winner != best) row.over_best = paired_ratio(*best, *winner);
  return row;
}

/// Geometric mean. Its interval comes from the rows' intervals: it covers the machine's noise, not the choice of
/// shapes.
Ratio mean_of(const std::vector<Row>& rows, Ratio Row::*ratio) {
  double sum = 0, variance = 0;
  for (const Row& row : rows) {
    sum += std::log((row.*ratio).value);
    const double error = std::log((row.*ratio).high / (row.*ratio).low) / (2 * kNormal95);
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
    const auto within = [type](int64_t least, int64_t most) {
      return [=](const Row& row) {
        const auto m = row.decision.problem.integer("m");
        return row.decision.problem.text("dtype") == type && m >= least && m <= most;
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

/// Counts the shapes where no library's untuned config reaches 70 % of the roofline, and those of them that a generated
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

}  // namespace

Findings measure_speed(const Settings& settings) {
  Workbench bench;
  const LoadMeter load(settings.quiet_wait_s);
  const auto items = shipped_items(settings, bench.device->info(), settings.quick ? 4 : 0);
  const auto journal = open_memory_journal();
  std::vector<Row> rows;
  for (const TuneResult& result : tune(bench, items, race_options(settings), *journal))
    rows.push_back(measure(bench, *result.decision, settings));
  const double others = load.others_share();
  nlohmann::ordered_json json = {{"others_share", others},
                                 {"groups", nlohmann::ordered_json::array()},
                                 {"shapes", nlohmann::ordered_json::array()}};
  std::string text =
      "| shapes | number | generated kernels win | over untuned oneDNN | over the best untuned library of each shape "
      "|\n"
      "|---|---|---|---|---|\n";
  for (const auto& [label, some] : grouped(rows)) {
    const Ratio onednn = mean_of(some, &Row::over_onednn), best = mean_of(some, &Row::over_best);
    const auto won =
        std::count_if(some.begin(), some.end(), [](const Row& row) { return is_generated(row.decision.winner); });
    text += fmt::format("| {} | {} | {} | {} | {} |\n", label, some.size(), won, text_of(onednn), text_of(best));
    json["groups"].push_back({{"shapes", label},
                              {"number", some.size()},
                              {"generated", won},
                              {"over_onednn", json_of(onednn)},
                              {"over_best_default", json_of(best)}});
  }
  text += "\n" + unexploited(rows) + fmt::format("Other processes used {:.1f} % of the processors.\n\n", 100 * others);
  text +=
      "| shape | untuned oneDNN µs | best untuned | µs | winner | µs | of the roofline | over oneDNN | over the best "
      "untuned | verdict |\n|---|---|---|---|---|---|---|---|---|---|\n";
  for (const Row& row : rows) {
    text += fmt::format("| {} | {:.1f} | {} | {:.1f} | {} | {:.1f} | {:.0f} % | {} | {} | {}{} |\n",
                        short_shape(row.decision.problem), row.onednn_us, row.best_default.solver, row.best_default_us,
                        short_candidate(row.decision.winner), row.winner_us, 100 * row.roofline_us / row.winner_us,
                        text_of(row.over_onednn), text_of(row.over_best), name(row.decision.verdict),
                        row.decision.noisy ? ", noisy" : "");
    json["shapes"].push_back({{"problem", row.decision.problem.key()},
                              {"onednn_us", row.onednn_us},
                              {"best_default", row.best_default.name()},
                              {"best_default_us", row.best_default_us},
                              {"winner", row.decision.winner.name()},
                              {"winner_us", row.winner_us},
                              {"roofline_us", row.roofline_us},
                              {"over_onednn", json_of(row.over_onednn)},
                              {"over_best_default", json_of(row.over_best)},
                              {"verdict", name(row.decision.verdict)}});
  }
  return {text, json.dump(2)};
}

}  // namespace attune::experiments
