// SPDX-License-Identifier: MIT
// Simulates the procedure of docs/measurement.md on synthetic noise: whether it ends, its cost, its error rate. Prints
// one line per condition and field; `--trials N` runs each N times (default: enough for a first look), `--json` prints
// one object per line, `--markdown` a table; further words select conditions: noise (quiet burst neighbour heavy), and
// openings of quiet machines whose kernels' times vary from opening to opening (openings2 openings10 openings40, the
// standard deviation in percent).
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/text.h"
#include "search/contest.h"
#include "testing/synthetic_world.h"

namespace {

using namespace attune;

/// Launches per candidate of an exhaustive tuning (5 + 101), the unit of cost.
constexpr double kExhaustiveLaunches = 106;

/// True times by slot; slot 0 is the baseline.
using Times = std::map<Slot, double>;

struct Trial {
  size_t num_candidates = 0;
  uint64_t screen = 0, finals = 0, confirm = 0, publish = 0;
  double regret = 0, shown_error = 0;  ///< shown_error is |published time of the winner / true time − 1|.
  Verdict verdict = Verdict::baseline;
  bool noisy = false, covered = false;  ///< covered: the interval holds the true ratio, 1 if the baseline won.
  size_t num_tied = 0;
  uint32_t num_workers = 1;

  uint64_t total() const { return screen + finals + confirm; }
};

Trial run(const Times& times, const SyntheticNoise& noise, uint64_t seed) {
  SyntheticWorld world(times, noise, derive_seed(seed, "world"));
  std::vector<Entrant> entrants;
  for (const auto& [slot, us] : times) {
    entrants.push_back({.slot = slot, .name = fmt::format("c{}", slot), .baseline = slot == 0});
  }
  Random order(derive_seed(seed, "order"));
  order.shuffle(entrants);
  std::stable_partition(entrants.begin(), entrants.end(), [](const Entrant& entrant) { return entrant.baseline; });

  Trial trial;
  ContestOptions options;
  options.seed = seed;
  Contest contest(options);
  const auto result = play(contest, world, entrants, [&](const std::vector<Turn>& schedule, Phase phase) {
    if (phase == Phase::race) trial.screen += schedule.size();
    if (phase == Phase::finals) trial.finals += schedule.size();
    if (phase == Phase::confirm) trial.confirm += schedule.size();
    if (phase == Phase::publish) trial.publish += schedule.size();
  });
  const auto best =
      std::min_element(times.begin(), times.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  trial.num_candidates = times.size();
  trial.regret = times.at(result.winner) / best->second - 1;
  trial.shown_error = std::abs(result.comparison.us / times.at(result.winner) - 1);
  trial.verdict = result.verdict;
  trial.noisy = result.noisy;
  trial.num_tied = result.tied.size();
  const double ratio = times.at(0) / times.at(result.winner);
  trial.covered = result.comparison.interval.low <= ratio && ratio <= result.comparison.interval.high;
  trial.num_workers = world.num_openings();
  return trial;
}

struct Setting {
  std::string name;
  uint32_t num_trials;
  std::function<Times(uint64_t seed)> times;
};

Times spread_times(size_t n, uint64_t seed) {
  Random random(derive_seed(seed, "times"));
  Times times;
  for (Slot slot = 0; slot < n; ++slot) times[slot] = 100 * (1 + std::abs(0.4 * random.normal()));
  return times;
}

/// Makes a baseline, a better candidate unless `better` is 0, and `rest` others, starting at `first`, 1 µs apart.
Times ladder(double baseline, double better, double first, Slot rest) {
  Times times = {{0, baseline}};
  if (better > 0) times[1] = better;
  for (Slot i = 0; i < rest; ++i) times[static_cast<Slot>(times.size())] = first + i;
  return times;
}

std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (const size_t n : {1, 2, 3, 8, 31, 100, 400}) {
    all.push_back({fmt::format("n={}", n), n == 400 ? 8u : 30u, [n](uint64_t seed) { return spread_times(n, seed); }});
  }
  all.push_back({"A/A two equal", 200, [](uint64_t) { return Times{{0, 100}, {1, 100}}; }});
  all.push_back({"two, 2% apart", 200, [](uint64_t) { return Times{{0, 102}, {1, 100}}; }});
  all.push_back({"two, 20% apart", 200, [](uint64_t) { return Times{{0, 120}, {1, 100}}; }});
  all.push_back({"30 equal", 40, [](uint64_t) {
                   Times times;
                   for (Slot slot = 0; slot < 30; ++slot) times[slot] = 100;
                   return times;
                 }});
  all.push_back({"base 2% behind", 60, [](uint64_t) { return ladder(102, 100, 110, 20); }});
  all.push_back({"base 5% behind", 60, [](uint64_t) { return ladder(105, 100, 110, 20); }});
  all.push_back({"base best", 40, [](uint64_t) { return ladder(100, 0, 101, 30); }});
  return all;
}

double mean(const std::vector<Trial>& trials, const std::function<double(const Trial&)>& figure) {
  double sum = 0;
  for (const auto& trial : trials) sum += figure(trial);
  return sum / static_cast<double>(trials.size());
}

enum class Form { text, json, markdown };

void print(std::string_view condition, std::string_view field, const std::vector<Trial>& trials, Form form) {
  const auto count = [&](auto predicate) { return std::count_if(trials.begin(), trials.end(), predicate); };
  const auto verdicts = [&](Verdict verdict) { return count([&](const Trial& t) { return t.verdict == verdict; }); };
  std::vector<double> regrets;
  for (const auto& trial : trials) regrets.push_back(trial.regret);
  std::sort(regrets.begin(), regrets.end());
  const double p95 = regrets[static_cast<size_t>(0.95 * static_cast<double>(regrets.size()))];
  const double screen = mean(trials, [](const Trial& t) { return static_cast<double>(t.screen); });
  const double finals = mean(trials, [](const Trial& t) { return static_cast<double>(t.finals); });
  const double confirm = mean(trials, [](const Trial& t) { return static_cast<double>(t.confirm); });
  const double publish = mean(trials, [](const Trial& t) { return static_cast<double>(t.publish); });
  const double share =
      (screen + finals + confirm) / kExhaustiveLaunches / static_cast<double>(trials[0].num_candidates);
  const double regret = mean(trials, [](const Trial& t) { return t.regret; });
  const double shown = mean(trials, [](const Trial& t) { return t.shown_error; });
  const double tied = mean(trials, [](const Trial& t) { return static_cast<double>(t.num_tied); });
  const auto noisy = count([](const Trial& t) { return t.noisy; });
  const double workers = mean(trials, [](const Trial& t) { return static_cast<double>(t.num_workers); });
  // Only of what is called faster: other rows state no ratio.
  const auto covered = count([](const Trial& t) { return t.verdict == Verdict::faster && t.covered; });
  if (form == Form::markdown) {
    fmt::print(
        "| {} | {} | {:.0f} + {:.0f} + {:.0f} | {:.1f} % | {:.2f} % | {:.2f} % | {} / {} / {} | {:.1f} | {} | {:.2f} % "
        "| {:.1f} | {} |\n",
        condition, field, screen, finals, confirm, 100 * share, 100 * regret, 100 * p95, verdicts(Verdict::faster),
        verdicts(Verdict::tie), verdicts(Verdict::baseline), tied, noisy, 100 * shown, workers, covered);
    return;
  }
  if (form == Form::json) {
    fmt::print(
        R"({{"condition":"{}","field":"{}","trials":{},"screen":{:.1f},"finals":{:.1f},"confirm":{:.1f},"publish":{:.1f},)"
        R"("share":{:.4f},"regret_mean":{:.6f},"regret_p95":{:.6f},"faster":{},"tie":{},"baseline":{},"noisy":{},)"
        R"("tied":{:.2f},"published_error":{:.6f},"workers":{:.2f},"covered":{}}})"
        "\n",
        condition, field, trials.size(), screen, finals, confirm, publish, share, regret, p95,
        verdicts(Verdict::faster), verdicts(Verdict::tie), verdicts(Verdict::baseline), noisy, tied, shown, workers,
        covered);
    return;
  }
  fmt::print(
      "{:<34} launches {:6.0f}+{:5.0f}+{:5.0f}={:6.0f} (publish +{:.0f}) share of 106n {:.3f}  regret mean {:.2f}% p95 "
      "{:.2f}%  faster/tie/base {}/{}/{} noisy {} tied {:.1f}  published off by {:.2f}%  workers {:.1f} covered {}\n",
      fmt::format("{} {}", condition, field), screen, finals, confirm, screen + finals + confirm, publish, share,
      100 * regret, 100 * p95, verdicts(Verdict::faster), verdicts(Verdict::tie), verdicts(Verdict::baseline), noisy,
      tied, 100 * shown, workers, covered);
}

}  // namespace

int main(int argc, char** argv) {
  Form form = Form::text;
  uint32_t num_trials = 0;
  std::vector<std::string> selected;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const int64_t number = word == "--trials" && i + 1 < argc ? parse_int(argv[i + 1]).value_or(0) : 0;
    if (word == "--json") {
      form = Form::json;
    } else if (word == "--markdown") {
      form = Form::markdown;
    } else if (number > 0 && number <= 1'000'000) {
      num_trials = static_cast<uint32_t>(number);
      ++i;
    } else if (word.starts_with("-")) {
      fmt::print(stderr,
                 "usage: {} [--trials N] [--json|--markdown] [quiet] [burst] [neighbour] [heavy] [openings2] "
                 "[openings10] [openings40]\n",
                 argv[0]);
      return 2;
    } else {
      selected.push_back(word);
    }
  }
  if (form == Form::markdown) {
    fmt::print(
        "| condition | field | launches: race + finals + confirm | share of 106 each | mean regret | 95 % of the "
        "regrets "
        "below | faster / tie / baseline | tied | noisy | published time off by | workers | intervals of `faster` that "
        "hold "
        "|\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  }
  const std::pair<std::string_view, SyntheticNoise> conditions[] = {{"quiet", {}},
                                                                    {"burst", {.dirty = 0.10}},
                                                                    {"neighbour", {.dirty = 0.25}},
                                                                    {"heavy", {.dirty = 0.70}},
                                                                    {"openings2", {.opening = 0.02}},
                                                                    {"openings10", {.opening = 0.10}},
                                                                    {"openings40", {.opening = 0.40}}};
  for (const auto& [condition, noise] : conditions) {
    if (!selected.empty() && std::find(selected.begin(), selected.end(), condition) == selected.end()) continue;
    for (const auto& setting : settings()) {
      std::vector<Trial> trials;
      const uint32_t count = num_trials ? num_trials : setting.num_trials;
      for (uint64_t seed = 0; seed < count; ++seed) {
        trials.push_back(run(setting.times(seed), noise, seed));
      }
      print(condition, setting.name, trials, form);
    }
  }
}
