// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <utility>

#include "search/strategy/config_points.h"
#include "search/strategy/gaussian_process.h"
#include "search/strategy/guided_strategy.h"
#include "search/strategy/strategies.h"

namespace attune {
namespace {

/// One trial in this many is spread over the space before the model is asked, and at least so many times are known.
constexpr uint64_t kModelSpreadShare = 6;
constexpr size_t kLeastTimes = 8;
/// Where the space estimates times, so many groups that the estimate does not tell apart are tried first, the first
/// config of each, because options of a library that are set are more often slower than faster; fewer are spread. The
/// model looks at some configs of these groups (docs/adr/0030).
constexpr size_t kEstimatedGroups = 32, kEstimatedConfigs = 200, kSpreadBesideEstimated = 4;
/// What the model is made of: the fastest, and as many others and failures at most.
constexpr size_t kMostFastest = 112, kMostOthers = 48, kMostFailures = 48;
/// By how much, as a logarithm, the slowest are slower than the fastest to the model: how slow the slow are says little
/// of where the fast are.
constexpr double kMostSlower = 1;
/// The model looks for weights again when it has so many times as many points as when it last did.
constexpr double kGrowth = 1.25;
/// Configs among which the model chooses: neighbours of the fastest, and random ones.
constexpr size_t kCentres = 8, kMostNeighbours = 400, kMostCompared = 4000, kRandomConfigs = 300;
/// Configs that it names before it waits for an answer.
constexpr size_t kBatch = 32;

/// Mean of how much faster than `best` a config is expected to be, where it is faster; all as logarithms (Jones,
/// Schonlau and Welch, Efficient Global Optimization, 1998).
double expected_improvement(const Prediction& of, double best) {
  const double deviation = std::sqrt(of.variance);
  const double z = (best - of.mean) / deviation;
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
  return deviation * (z * 0.5 * std::erfc(-z / std::numbers::sqrt2) + density);
}

/// The configs of a task as points, and what the space's estimate of times says of them.
struct Estimated {
  explicit Estimated(const SearchTask& task) : points(task.space(), task.problem, task.device) {
    auto groups = points.groups_by_estimate(task.domain);
    if (groups.size() > kEstimatedGroups) groups.resize(kEstimatedGroups);
    for (const ConfigPoints::Group& group : groups) {
      first.push_back(group.configs.front());
      promising.insert(promising.end(), group.configs.begin(), group.configs.end());
    }
  }
  ConfigPoints points;              ///< It refers to the space, which all copies of the task's domain share.
  std::vector<uint64_t> first;      ///< One of each of the best groups.
  std::vector<uint64_t> promising;  ///< All of these groups.
};

SearchTask begun_with(SearchTask task, const std::vector<uint64_t>& configs) {
  task.start.insert(task.start.end(), configs.begin(), configs.end());
  return task;
}

class ModelStrategy final : public GuidedStrategy {
 public:
  ModelStrategy(const SearchTask& task, const StrategyOptions& options)
      : ModelStrategy(task, options, Estimated(task)) {}

 private:
  ModelStrategy(const SearchTask& task, const StrategyOptions& options, Estimated estimated)
      : GuidedStrategy(begun_with(task, estimated.first), options,
                       estimated.first.empty() ? std::max<uint64_t>(kLeastTimes, options.max_trials / kModelSpreadShare)
                                               : kSpreadBesideEstimated),
        points_(std::move(estimated.points)),
        process_(points_.num_coordinates()),
        promising_(std::move(estimated.promising)) {}

  std::optional<uint64_t> next_guess() override {
    if (times().size() < kLeastTimes) return next_neighbour();
    if (std::exchange(has_changed_, false)) named_ = name_configs();
    while (!named_.empty()) {
      const uint64_t index = named_.back();
      named_.pop_back();
      if (!is_known(index)) return index;
    }
    return std::nullopt;
  }

  void note_change() override { has_changed_ = true; }

  /// The most promising configs, the best of them last.
  std::vector<uint64_t> name_configs() {
    fit();
    const std::vector<uint64_t> pool = pool_of_configs();
    std::vector<GaussianProcess::Point> points;
    for (const uint64_t index : pool) points.push_back(points_.at(index));
    // What is being tried makes the model surer around it as well.
    for (const uint64_t index : pending()) points.push_back(points_.at(index));
    GaussianProcess::Queries queries(process_, std::move(points));
    for (size_t i = pool.size(); i < queries.size(); ++i) queries.add(i);
    std::vector<bool> is_named(pool.size());
    std::vector<uint64_t> named;
    while (named.size() < std::min(kBatch, pool.size())) {
      // Where no gain is expected, the shortest time is. Floats, because mathematical libraries differ in the last
      // bits.
      std::pair<float, float> max(-1, 0);
      size_t chosen = pool.size();
      for (size_t i = 0; i < pool.size(); ++i) {
        if (is_named[i]) continue;
        const Prediction& of = queries.at(i);
        const std::pair promise(static_cast<float>(expected_improvement(of, best_)), -static_cast<float>(of.mean));
        if (promise > max) {
          max = promise;
          chosen = i;
        }
      }
      is_named[chosen] = true;
      named.push_back(pool[chosen]);
      queries.add(chosen);
    }
    std::ranges::reverse(named);
    return named;
  }

  void fit() {
    const std::vector<uint64_t> ranked = best(times().size());
    std::vector<GaussianProcess::Point> points;
    std::vector<double> values;
    const auto add = [&](uint64_t index) {
      points.push_back(points_.at(index));
      values.push_back(std::min(std::log(times().at(index)), best_ + kMostSlower));
    };
    best_ = std::log(times().at(ranked.front()));
    const size_t num_fastest = std::min(kMostFastest, ranked.size());
    for (size_t i = 0; i < num_fastest; ++i) add(ranked[i]);
    const size_t num_slower = ranked.size() - num_fastest, num_others = std::min(kMostOthers, num_slower);
    for (size_t i = 0; i < num_others; ++i) add(ranked[num_fastest + i * num_slower / num_others]);
    // What fails is as slow as what is slow, so that a region of it is left. The first so many, in the order of
    // indices.
    for (size_t i = 0; const uint64_t index : failures()) {
      if (i++ == kMostFailures) break;
      points.push_back(points_.at(index));
      values.push_back(best_ + kMostSlower);
    }
    const bool looks = static_cast<double>(ranked.size()) >= kGrowth * static_cast<double>(num_points_of_weights_);
    if (looks) num_points_of_weights_ = ranked.size();
    process_.fit(points, values, looks);
  }

  /// Keeps those with the shortest expected times; a mean costs far less than an expected improvement.
  void keep_promising(std::vector<uint64_t>& neighbours) {
    if (neighbours.size() <= kMostNeighbours) return;
    if (neighbours.size() > kMostCompared) {
      random().shuffle(neighbours);
      neighbours.resize(kMostCompared);
    }
    std::vector<std::pair<float, uint64_t>> order;
    for (const uint64_t index : neighbours)
      order.emplace_back(static_cast<float>(process_.mean(points_.at(index))), index);
    std::ranges::nth_element(order, order.begin() + kMostNeighbours);
    neighbours.clear();
    for (size_t i = 0; i < kMostNeighbours; ++i) neighbours.push_back(order[i].second);
  }

  std::vector<uint64_t> pool_of_configs() {
    std::vector<uint64_t> neighbours;
    for (const uint64_t centre : best(kCentres)) {
      const auto& near = neighbours_of(centre);
      neighbours.insert(neighbours.end(), near.begin(), near.end());
    }
    std::ranges::sort(neighbours);
    neighbours.erase(std::ranges::unique(neighbours).begin(), neighbours.end());
    keep_promising(neighbours);
    std::set<uint64_t> pool(neighbours.begin(), neighbours.end());
    for (size_t i = 0; i < kRandomConfigs && domain().size() > 0; ++i) {
      const uint64_t index = domain().index(random().below(domain().size()));
      if (!is_known(index) && domain().contains(index)) pool.insert(index);
    }
    for (size_t i = 0; i < kEstimatedConfigs && !promising_.empty(); ++i) {
      const uint64_t index = promising_[random().below(promising_.size())];
      if (!is_known(index)) pool.insert(index);
    }
    return {pool.begin(), pool.end()};
  }

  ConfigPoints points_;
  GaussianProcess process_;
  std::vector<uint64_t> promising_;  ///< By the space's estimate.
  double best_ = 0;                  ///< Logarithm of the shortest time.
  size_t num_points_of_weights_ = 0;
  bool has_changed_ = true;
  std::vector<uint64_t> named_;  ///< The next one last.
};

}  // namespace

std::unique_ptr<Strategy> make_model(SearchTask task, const StrategyOptions& options) {
  return std::make_unique<ModelStrategy>(task, options);
}

}  // namespace attune
