// SPDX-License-Identifier: MIT
#include "tuner/candidate_source.h"

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "ops/op.h"
#include "search/prune.h"
#include "search/strategy/strategies.h"

namespace attune {
namespace {

bool is_wanted(const std::string& solver, const std::vector<std::string>& libraries) {
  if (libraries.empty()) return true;
  const auto first_part = solver.substr(0, solver.find('.'));
  return std::find(libraries.begin(), libraries.end(), first_part) != libraries.end();
}

bool is_named(const std::string& solver, const std::vector<std::string>& solvers) {
  return solvers.empty() || std::find(solvers.begin(), solvers.end(), solver) != solvers.end();
}

bool splits_k(const Config& config) { return config.has("split_k") && config.integer("split_k") > 1; }

/// The space of the candidates that are a contender's; empty if none is.
SearchSpace space_of(std::span<const Candidate> candidates, const Contender& contender) {
  std::vector<Config> configs;
  for (const Candidate& one : candidates) {
    if (one.solver == contender.solver && one.version == contender.version) configs.push_back(one.config);
  }
  return configs.empty() ? SearchSpace() : SearchSpace::listed(std::move(configs));
}

}  // namespace

CandidateSource::CandidateSource(const WorkItem& item, const DeviceInfo& device, std::vector<Contender> contenders,
                                 const TunerOptions& options, const StartingPoints& start)
    : split_k_(options.split_k) {
  const Problem& problem = item.problem;
  const FamilySpec& family = op_of(problem).family();
  std::stable_sort(contenders.begin(), contenders.end(), [&](const Contender& one, const Contender& other) {
    return comes_before(family, one.solver, other.solver);
  });
  for (Contender& contender : contenders) {
    if (!is_wanted(contender.solver, options.libraries) || !is_named(contender.solver, item.solvers)) continue;
    if (!contender.support.yes) {
      refusals_.push_back(contender.solver + " " + contender.support.reason);
      continue;
    }
    untuned_.push_back({contender.solver, contender.version, contender.untuned});
    versions_.insert(contender.versions.begin(), contender.versions.end());
    // Rows of one weight share a config, which must serve every M.
    if (options.protocol.require == Requirement::batch_invariant) contender.space = contender.invariant;
    if (!item.candidates.empty()) contender.space = space_of(item.candidates, contender);
    StrategyOptions strategy = options.strategy;
    strategy.seed = derive_seed(options.strategy.seed, problem.key() + contender.solver);
    if (const auto index = contender.space.index_of(contender.untuned)) strategy.start.push_back(*index);
    const auto belongs = [&](const Candidate& one) {
      return one.solver == contender.solver && one.version == contender.version;
    };
    const auto begin_with = [&](const Candidate& one) {
      if (const auto index = contender.space.index_of(one.config)) strategy.start.push_back(*index);
    };
    if (start.incumbent && belongs(*start.incumbent)) {
      incumbent_ = start.incumbent;
      begin_with(*start.incumbent);
    }
    for (const Candidate& neighbour : start.neighbours) {
      if (belongs(neighbour)) begin_with(neighbour);
    }
    auto pruned = prune(contender.space, problem, device, strategy.seed);
    auto lane = make_strategy(contender.space, std::move(pruned.allowed), strategy);
    lanes_.push_back({std::move(contender), std::move(lane)});
  }
}

std::vector<Candidate> CandidateSource::ask(size_t max_count) {
  std::vector<Candidate> asked;
  // Lanes take turns, so that a large space does not delay a small one.
  for (size_t idle = 0; asked.size() < max_count && idle < lanes_.size();
       next_lane_ = (next_lane_ + 1) % lanes_.size()) {
    Lane& lane = lanes_[next_lane_];
    const auto indices = lane.strategy->ask(1);
    idle = indices.empty() ? idle + 1 : 0;
    for (const uint64_t index : indices) {
      Candidate candidate{lane.contender.solver, lane.contender.version, lane.contender.space.at(index)};
      if (split_k_ || !splits_k(candidate.config))
        asked.push_back(std::move(candidate));
      else
        lane.strategy->tell(index, Status::cancelled, 0);
    }
  }
  return asked;
}

void CandidateSource::tell(const Candidate& candidate, Status status, double median_us) {
  for (Lane& lane : lanes_) {
    if (lane.contender.solver != candidate.solver) continue;
    if (const auto index = lane.contender.space.index_of(candidate.config))
      lane.strategy->tell(*index, status, median_us);
  }
}

const Versions* CandidateSource::versions_of(const std::string& solver) const {
  const auto found =
      std::find_if(lanes_.begin(), lanes_.end(), [&](const Lane& lane) { return lane.contender.solver == solver; });
  return found == lanes_.end() ? nullptr : &found->contender.versions;
}

bool CandidateSource::exhausted() const {
  return std::all_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.strategy->exhausted(); });
}

}  // namespace attune
