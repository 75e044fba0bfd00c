// SPDX-License-Identifier: MIT
// Complete tunings of the shipped shapes: checks that two agree, and that no shape becomes slower.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "report/result_table.h"
#include "tuner/interleaved.h"
#include "workbench.h"

namespace attune::experiments {
namespace {

bool is_tied(const Decision& decision, const Candidate& candidate) {
  return std::find(decision.tied.begin(), decision.tied.end(), candidate) != decision.tied.end();
}

/// Times the winner beside another candidate on fresh samples: time of the other / time of the winner.
TimedCandidate time_beside(Workbench& bench, const Decision& decision, const Candidate& other, uint32_t rounds,
                           uint64_t seed) {
  const std::array<Candidate, 2> pair = {other, decision.winner};
  const auto timed =
      time_interleaved(*bench.executor, decision.problem, pair,
                       {.protocol = decision.protocol, .rounds = rounds, .seed = seed, .kernels = bench.kernels.get()});
  for (const TimedCandidate& one : timed) {
    if (!one.outcome.ok())
      fail(ErrorCode::unavailable, "{} does not work any more: {}", one.candidate.name(), one.outcome.detail);
  }
  return timed[1];
}

/// Returns a field of the first processor in /proc/cpuinfo.
std::string cpu_field(std::string_view cpuinfo, std::string_view field) {
  for (const auto line : split(cpuinfo, '\n')) {
    const auto colon = line.find(':');
    if (colon != std::string_view::npos && trim(line.substr(0, colon)) == field)
      return std::string(trim(line.substr(colon + 1)));
  }
  return "unknown";
}

struct Suspect {
  Problem problem;
  TimedCandidate first, second;
  bool slower() const { return first.comparison.interval.high < 1 && second.comparison.interval.high < 1; }
};

/// Finds winners that look slower than their baseline on fresh samples, and times each again.
std::vector<Suspect> find_suspects(Workbench& bench, const std::vector<TuneResult>& results, const Settings& settings) {
  const uint32_t rounds = settings.quick ? 21 : 51;
  std::vector<Suspect> suspects;
  for (const TuneResult& result : results) {
    const Decision& decision = *result.decision;
    if (decision.winner == decision.baseline) continue;
    const auto timed = time_beside(bench, decision, decision.baseline, rounds, settings.seed + 2);
    if (timed.comparison.interval.high >= 1) continue;
    suspects.push_back(
        {decision.problem, timed, time_beside(bench, decision, decision.baseline, rounds, settings.seed + 3)});
  }
  return suspects;
}

}  // namespace

Findings describe_machine(const Settings& settings) {
  Workbench bench(settings);
  const std::array<std::string_view, 1> probe = {"gemm_a16w16 m=1 n=64 k=64 dtype=fp32"};
  const auto problem = items_of(probe, {}, bench.device->info()).front().problem;
  Versions versions;
  for (const Contender& contender : open_problem(*bench.executor, 0, problem, {}).contenders)
    versions.insert(contender.versions.begin(), contender.versions.end());
  const DeviceInfo& device = bench.device->info();
  const std::string cpuinfo = read_file("/proc/cpuinfo"), flags = cpu_field(cpuinfo, "flags");
  const std::string kernel(trim(read_file("/proc/sys/kernel/osrelease")));
  std::vector<std::string> parts;
  for (const auto& [solver, version] : versions) parts.push_back(solver + " " + version);
  const std::string text = fmt::format(
      "{} ({}), {} cores, {:.1f} GiB of memory, last-level cache as reported {:.0f} MiB, Linux {}.\n\n"
      "Libraries: {}.\n\nCPU flags: `{}`\n",
      device.model, device.key(), device.num_units, static_cast<double>(device.memory_bytes) / 0x1p30,
      static_cast<double>(device.cache_bytes) / 0x1p20, kernel, join(parts, ", "), flags);
  const nlohmann::ordered_json json = {{"model", device.model},
                                       {"key", device.key()},
                                       {"cores", device.num_units},
                                       {"memory_bytes", device.memory_bytes},
                                       {"cache_bytes", device.cache_bytes},
                                       {"linux", kernel},
                                       {"versions", versions},
                                       {"flags", flags}};
  return {text, json.dump(2)};
}

Findings measure_repeat(const Settings& settings) {
  Workbench bench(settings);
  const LoadMeter load(settings.quiet_wait_s);
  const auto items = shipped_items(settings, bench.device->info(), settings.quick ? 4 : 0);
  const auto first_journal = open_memory_journal(), second_journal = open_memory_journal();
  const auto first = tune(bench, items, race_options(settings), *first_journal);
  Settings other = settings;
  ++other.seed;
  const auto second = tune(bench, items, race_options(other), *second_journal);
  const auto suspects = find_suspects(bench, first, settings);
  const double others = load.others_share();
  size_t num_same = 0, num_tied = 0;
  auto differing = nlohmann::ordered_json::array();
  std::string rows;
  for (size_t i = 0; i < items.size(); ++i) {
    const Decision &a = *first[i].decision, &b = *second[i].decision;
    const bool same = a.winner == b.winner, tied = is_tied(a, b.winner) || is_tied(b, a.winner);
    num_same += same;
    num_tied += !same && tied;
    if (same) continue;
    rows += fmt::format("| {} | {} {:.3f}× | {} {:.3f}× | {} |\n", short_shape(a.problem), short_candidate(a.winner),
                        a.comparison.ratio, short_candidate(b.winner), b.comparison.ratio, tied ? "yes" : "**no**");
    differing.push_back(
        {{"problem", a.problem.key()}, {"first", a.winner.name()}, {"second", b.winner.name()}, {"tied", tied}});
  }
  const Frequency agreeing = frequency(num_same + num_tied, items.size());
  const auto num_slower =
      std::count_if(suspects.begin(), suspects.end(), [](const Suspect& one) { return one.slower(); });
  std::string text = fmt::format(
      "| shapes | same winner | another, tied | agreeing, 95 % interval | suspects on a second run | slower than the "
      "default |\n"
      "|---|---|---|---|---|---|\n| {} | {} | {} | {:.0f} % [{:.0f}, {:.0f}] | {} | {} |\n\n"
      "Other processes used {:.1f} % of the processors.\n",
      items.size(), num_same, num_tied, 100 * agreeing.share, 100 * agreeing.low, 100 * agreeing.high, suspects.size(),
      num_slower, 100 * others);
  if (!rows.empty()) text += "\n| shape | first tuning | second tuning | tied |\n|---|---|---|---|\n" + rows;
  nlohmann::ordered_json json = {{"shapes", items.size()},
                                 {"same", num_same},
                                 {"tied", num_tied},
                                 {"slower", num_slower},
                                 {"others_share", others},
                                 {"differing", differing},
                                 {"suspects", nlohmann::ordered_json::array()}};
  if (!suspects.empty()) text += "\n| suspect | first check | run again |\n|---|---|---|\n";
  for (const Suspect& one : suspects) {
    const Interval &before = one.first.comparison.interval, &again = one.second.comparison.interval;
    text += fmt::format("| {} | [{:.3f}, {:.3f}] | [{:.3f}, {:.3f}] |\n", short_shape(one.problem), before.low,
                        before.high, again.low, again.high);
    json["suspects"].push_back(
        {{"problem", one.problem.key()}, {"first", {before.low, before.high}}, {"second", {again.low, again.high}}});
  }
  return {text, json.dump(2)};
}

}  // namespace attune::experiments
