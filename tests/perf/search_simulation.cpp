// SPDX-License-Identifier: MIT
// How close to the best config of a recorded space do strategies come, and after how many trials?
//
//   attune_search_simulation [--seeds N] [--batch N] [--strategies local,model] FILE…
//
// A file is the whole space of one kernel with its times, as Kernel Tuner's cache or in the T4 format (JSON, not
// compressed). Each seed searches it anew; a batch is told when all of it was asked for, as in a race. Prints, for each
// file and strategy, the mean regret in per cent after 24, 48, 96 and 192 trials, failures among them, and the seconds
// that 192 questions took.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "search/strategy/strategies.h"

namespace attune {
namespace {

using Json = nlohmann::ordered_json;

struct Recording {
  SearchSpace space;
  std::vector<double> times;  ///< By index; 0: it failed.
  double best = std::numeric_limits<double>::infinity();
};

std::string text_of(const Json& value) {
  return value.is_string()    ? value.get<std::string>()
         : value.is_boolean() ? (value.get<bool>() ? "1" : "0")
                              : value.dump();
}

Recording read_recording(const std::string& file) {
  std::ifstream stream(file);
  if (!stream) fail(ErrorCode::not_found, "{} cannot be opened", file);
  const Json json = Json::parse(stream, nullptr, false);
  if (json.is_discarded() || !(json.contains("results") || json.contains("cache")))
    fail(ErrorCode::invalid_input, "{} is neither a T4 file nor a cache of Kernel Tuner (JSON, not compressed)", file);
  std::vector<std::pair<Config, double>> rows;
  const auto add = [&](const Json& values, const std::vector<std::string>& names, double time) {
    std::string text;
    for (const std::string& name : names) {
      std::string value = text_of(values.at(name));
      std::ranges::replace(value, ';', ',');
      text += (text.empty() ? "" : ";") + name + "=" + value;
    }
    rows.emplace_back(Config::parse(text), time);
  };
  if (json.contains("results")) {
    for (const Json& one : json["results"]) {
      std::vector<std::string> names;
      for (const auto& [name, value] : one["configuration"].items()) names.push_back(name);
      double time = 0;
      for (const Json& measured : one["measurements"]) {
        if (measured["name"] == "time" && measured["value"].is_number()) time = measured["value"];
      }
      add(one["configuration"], names, one.value("invalidity", "correct") == "correct" ? time : 0);
    }
  } else {
    const auto names = json["tune_params_keys"].get<std::vector<std::string>>();
    for (const auto& [key, one] : json["cache"].items()) {
      const Json& time = one.at("time");
      add(one, names, time.is_number() && time.get<double>() < 1e19 ? time.get<double>() : 0);
    }
  }
  std::vector<Config> configs;
  for (const auto& [config, time] : rows) configs.push_back(config);
  Recording recording{SearchSpace::listed(configs), {}};
  recording.times.resize(recording.space.size());
  for (const auto& [config, time] : rows) {
    recording.times[*recording.space.index_of(config)] = time;
    if (time > 0) recording.best = std::min(recording.best, time);
  }
  return recording;
}

constexpr size_t kMarks[] = {24, 48, 96, 192};

void simulate(const std::string& file, const Recording& recording, const std::string& name, uint64_t num_seeds,
              size_t batch) {
  std::vector<double> regrets(std::size(kMarks));
  std::vector<double> worst(std::size(kMarks));
  double seconds = 0;
  const Domain domain(recording.space, {}, {});
  for (uint64_t seed = 1; seed <= num_seeds; ++seed) {
    const SearchTask task{
        .domain = domain, .problem = {}, .device = {}, .solver = "recorded", .start = {}, .prior = {}, .costs = {}};
    const auto strategy = make_strategy(task, {.name = name, .seed = seed, .max_trials = 96, .spare_trials = 96});
    double best = std::numeric_limits<double>::infinity();
    size_t num_asked = 0, mark = 0;
    const auto settle = [&] {
      while (mark < std::size(kMarks) && num_asked >= kMarks[mark]) {
        const double regret = std::isinf(best) ? 10 : best / recording.best - 1;
        regrets[mark] += regret;
        worst[mark] = std::max(worst[mark], regret);
        ++mark;
      }
    };
    while (!strategy->exhausted()) {
      const auto began = std::chrono::steady_clock::now();
      const auto asked = strategy->ask(batch);
      seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
      if (asked.empty()) break;
      for (const uint64_t index : asked) {
        ++num_asked;
        const double us = recording.times[index];
        if (us > 0) best = std::min(best, us);
        settle();
        strategy->tell({.index = index, .status = us > 0 ? Status::ok : Status::launch_failed, .median_us = us});
      }
    }
    num_asked = std::max<size_t>(num_asked, 1000);
    settle();
  }
  std::string line = fmt::format("{:<44} {:>6} {:<8}", file.substr(file.rfind('/') + 1), recording.space.size(), name);
  for (size_t i = 0; i < std::size(kMarks); ++i)
    line += fmt::format(" {:7.1f} ({:.0f})", 100 * regrets[i] / static_cast<double>(num_seeds), 100 * worst[i]);
  fmt::print("{}  {:.3f} s\n", line, seconds / static_cast<double>(num_seeds));
  std::fflush(stdout);
}

uint64_t number_of_flag(const std::string& flag, const std::string& text) {
  const auto number = parse_int(text);
  if (!number || *number < 1) fail(ErrorCode::invalid_input, "{} takes a number of at least 1, got '{}'", flag, text);
  return static_cast<uint64_t>(*number);
}

int run(const std::vector<std::string>& arguments) {
  uint64_t num_seeds = 20;
  size_t batch = 8;
  std::vector<std::string> strategies = {"random", "local", "model"}, files;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool has_value = i + 1 < arguments.size();
    if (arguments[i] == "--seeds" && has_value) {
      num_seeds = number_of_flag(arguments[i], arguments[i + 1]);
      ++i;
    } else if (arguments[i] == "--batch" && has_value) {
      batch = number_of_flag(arguments[i], arguments[i + 1]);
      ++i;
    } else if (arguments[i] == "--strategies" && has_value) {
      strategies.clear();
      for (const auto one : split(arguments[++i], ',')) strategies.emplace_back(one);
    } else {
      files.push_back(arguments[i]);
    }
  }
  if (files.empty()) fail(ErrorCode::invalid_input, "name the files of recorded spaces");
  fmt::print("mean (worst) regret in % after 24, 48, 96 and 192 trials, {} seeds, batches of {}\n", num_seeds, batch);
  for (const std::string& file : files) {
    const Recording recording = read_recording(file);
    for (const std::string& name : strategies) simulate(file, recording, name, num_seeds, batch);
  }
  return 0;
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  try {
    return attune::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "attune_search_simulation: {}\n", error.what());
    return 2;
  }
}
