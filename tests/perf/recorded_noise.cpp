// SPDX-License-Identifier: MIT
#include "recorded_noise.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "core/statistics.h"
#include "report/result_table.h"
#include "tuner/candidate_source.h"
#include "workbench.h"

namespace attune::experiments {
namespace {

constexpr std::array kConditions = {Condition::quiet, Condition::bursts, Condition::neighbour};
/// Most libraries' candidates take 0.05 to 0.6 ms for these problems; both thread pools are among them.
constexpr std::array<std::string_view, 6> kRecordedProblems = {
    "gemm_a16w16 m=8 n=896 k=896 dtype=fp32",  "gemm_a16w16 m=1 n=896 k=896 dtype=fp32",
    "gemm_a16w16 m=32 n=576 k=576 dtype=fp32", "gemm_a16w16 m=16 n=896 k=512 dtype=bf16",
    "gemm_a16w16 m=4 n=1536 k=576 dtype=bf16", "gemm_a16w16 m=64 n=384 k=384 dtype=fp32"};
constexpr size_t kNumSamples = 3000;  // Of a condition.
constexpr double kSlowestUs = 1000;   // Samples of slower candidates add nothing and take longer.
constexpr uint32_t kRoundsAtOnce = 10;

struct Recording {
  std::vector<Turn> turns;
  std::vector<Sample> samples;
};

/// Admits the libraries' correct and fast candidates of the problem; returns their turns with their batches.
std::vector<Turn> admit_all(Workbench& bench, const Problem& problem, const Settings& settings) {
  const TunerOptions options = race_options(settings);
  auto opened = open_problem(*bench.executor, 0, problem, options.protocol);
  CandidateSource source({.problem = problem}, bench.device->info(), std::move(opened.contenders), options,
                         StartingPoints{});
  source.begin({});
  std::vector<Turn> admitted;
  Slot slot = 0;
  for (const Candidate& candidate : source.ask(1000)) {
    const auto answer = admit(*bench.executor, {0, ++slot, {.candidate = candidate}});
    if (!answer.verified.ok()) continue;
    const Turn turn{.slot = slot, .launches = answer.batch};
    const auto sampled = sample(*bench.executor, {{turn}});
    if (!sampled.samples.empty() && sampled.samples.front().us <= kSlowestUs) admitted.push_back(turn);
  }
  // A kernel's turn leaves this thread pinned to one core, but LoadMeter reads the cores that the thread may use.
  settle(*bench.device, {}, false);
  return admitted;
}

Recording record(Executor& executor, std::vector<Turn> turns, size_t num_samples, Random& random) {
  Recording recording;
  for (uint32_t round = 0; recording.samples.size() < num_samples; round += kRoundsAtOnce) {
    std::vector<Turn> schedule;
    for (uint32_t i = 0; i < kRoundsAtOnce; ++i) {
      random.shuffle(turns);
      schedule.insert(schedule.end(), turns.begin(), turns.end());
    }
    const auto sampled = sample(executor, {std::move(schedule)});
    recording.turns.insert(recording.turns.end(), sampled.turns.begin(), sampled.turns.end());
    recording.samples.insert(recording.samples.end(), sampled.samples.begin(), sampled.samples.end());
  }
  return recording;
}

std::vector<NoiseSample> residuals(const Recording& recording) {
  std::map<Slot, std::vector<double>> clean, all;
  for (size_t i = 0; i < recording.samples.size(); ++i) {
    const Sample& sample = recording.samples[i];
    all[recording.turns[i].slot].push_back(sample.us);
    if (!sample.dirty) clean[recording.turns[i].slot].push_back(sample.us);
  }
  std::map<Slot, double> usual;
  for (const auto& [slot, times] : all) usual[slot] = median(clean[slot].size() >= 3 ? clean[slot] : times);
  std::vector<NoiseSample> noise;
  for (size_t i = 0; i < recording.samples.size(); ++i) {
    const Sample& sample = recording.samples[i];
    const double ratio = std::log(sample.us / usual.at(recording.turns[i].slot));
    noise.push_back({static_cast<float>(ratio), sample.clock, sample.dirty});
  }
  return noise;
}

/// The noise of all problems under one condition.
struct ConditionNoise {
  std::vector<NoiseSample> samples;
  double others_share = 0;  ///< The largest of the problems.
};

/// Records each problem under all conditions before the next is opened.
std::map<Condition, ConditionNoise> record_all(const Settings& settings, size_t num_samples, std::string& shapes) {
  Workbench bench(settings);
  Random random(derive_seed(settings.seed, "record"));
  std::map<Condition, ConditionNoise> noise;
  for (const auto& item : items_of(kRecordedProblems, {}, bench.device->info())) {
    const auto turns = admit_all(bench, item.problem, settings);
    ATTUNE_CHECK(!turns.empty(), "no candidate of {} works here", item.problem.key());
    shapes += fmt::format("{}{} candidates of {}", shapes.empty() ? "" : ", ", turns.size(), short_shape(item.problem));
    for (const Condition condition : kConditions) {
      const LoadMeter load(condition == Condition::quiet ? settings.quiet_wait_s : 0);
      const BusyNeighbour neighbour(condition);
      const auto samples = residuals(record(*bench.executor, turns, num_samples / kRecordedProblems.size(), random));
      ConditionNoise& all = noise[condition];
      all.samples.insert(all.samples.end(), samples.begin(), samples.end());
      all.others_share = std::max(all.others_share, load.others_share());
    }
    bench.executor->close(0);
  }
  shapes += fmt::format(" on {} ({})", bench.device->info().model, bench.device->info().key());
  return noise;
}

}  // namespace

Findings record_noise(const Settings& settings) {
  const size_t num_samples = settings.num_trials > 0 ? settings.num_trials : settings.quick ? 300 : kNumSamples;
  std::string shapes;
  const auto noise = record_all(settings, num_samples, shapes);
  std::string file = fmt::format(
      "# Noise of real kernels, interleaved: {}.\n"
      "# ln(time / the kernel's median) in 1e-4, clock in percent of the usual, 1 if dirty.\n",
      shapes);
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  std::string markdown =
      "| condition | samples | dirty | spread of the clean | clean, yet 10 % slow | others used "
      "|\n|---|---|---|---|---|---|\n";
  for (const auto& [condition, all] : noise) {
    const double others = all.others_share;
    file += fmt::format("# other processes used {:.0f} % of the processors\n[{}]\n", 100 * others, name(condition));
    std::vector<double> clean;
    size_t slow = 0;
    for (const NoiseSample& sample : all.samples) {
      file += fmt::format("{:.0f} {:.0f} {}\n", 1e4 * sample.log_ratio, 100 * sample.clock, sample.dirty ? 1 : 0);
      if (sample.dirty) continue;
      clean.push_back(sample.log_ratio);
      slow += sample.log_ratio > std::log(1.1);
    }
    const double count = static_cast<double>(all.samples.size());
    const double dirty = 1 - static_cast<double>(clean.size()) / count;
    const double unseen = static_cast<double>(slow) / count, spread = scaled_mad(clean);
    markdown += fmt::format("| {} | {} | {:.1f} % | {:.2f} % | {:.1f} % | {:.0f} % |\n", name(condition),
                            all.samples.size(), 100 * dirty, 100 * spread, 100 * unseen, 100 * others);
    list.push_back({{"condition", name(condition)},
                    {"samples", all.samples.size()},
                    {"dirty", dirty},
                    {"spread", spread},
                    {"slow_unseen", unseen},
                    {"others_share", others}});
  }
  write_file_atomically(settings.noise, file);
  return {markdown, list.dump(2)};
}

RecordedNoise read_noise(const std::filesystem::path& file) {
  const std::string text = read_file(file);
  RecordedNoise noise;
  std::vector<NoiseSample>* section = nullptr;
  size_t number = 0;
  for (const auto line : split(text, '\n')) {
    ++number;
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with('[')) {
      const auto condition = std::find_if(kConditions.begin(), kConditions.end(),
                                          [&](Condition one) { return line == fmt::format("[{}]", name(one)); });
      section = condition == kConditions.end() ? nullptr : &noise[*condition];
      continue;
    }
    const auto words = split(line, ' ');
    const auto ratio = words.size() == 3 ? parse_int(words[0]) : std::nullopt;
    const auto clock = words.size() == 3 ? parse_int(words[1]) : std::nullopt;
    if (section == nullptr || !ratio || !clock)
      fail(ErrorCode::invalid_input, "record the noise again, this line is none: {}:{}", file.string(), number);
    section->push_back({1e-4f * static_cast<float>(*ratio), 1e-2f * static_cast<float>(*clock), words[2] == "1"});
  }
  for (const Condition condition : kConditions) {
    if (noise[condition].empty())
      fail(ErrorCode::invalid_input, "record the noise again: no {} samples in {}", name(condition), file.string());
  }
  return noise;
}

RecordedWorld::RecordedWorld(std::map<Slot, double> times_us, const std::vector<NoiseSample>& noise, uint64_t seed)
    : times_us_(std::move(times_us)), noise_(noise), random_(seed), at_(random_.below(noise.size())) {}

Sample RecordedWorld::sample(Slot slot) {
  ++num_samples_;
  at_ = (at_ + 1) % noise_.size();
  const NoiseSample& noise = noise_[at_];
  const double us = times_us_.at(slot) * std::exp(static_cast<double>(noise.log_ratio));
  return {.us = static_cast<float>(us), .clock = noise.clock, .round = 0, .dirty = noise.dirty};
}

void RecordedWorld::skip() { at_ = random_.below(noise_.size()); }

}  // namespace attune::experiments
