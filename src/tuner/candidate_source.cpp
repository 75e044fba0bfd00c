// SPDX-License-Identifier: MIT
#include "tuner/candidate_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "ops/op.h"

namespace attune {
namespace {

bool is_wanted(const std::string& solver, const std::vector<std::string>& libraries) {
  if (libraries.empty()) return true;
  return std::find(libraries.begin(), libraries.end(), first_part(solver)) != libraries.end();
}

bool is_named(const std::string& solver, const std::vector<std::string>& solvers) {
  return solvers.empty() || std::find(solvers.begin(), solvers.end(), solver) != solvers.end();
}

bool belongs(const Candidate& candidate, const Contender& contender) {
  return candidate.solver == contender.solver && candidate.version == contender.version;
}

/// The contender's own candidates as a space; empty if it has none.
SearchSpace space_of(std::span<const Candidate> candidates, const Contender& contender) {
  std::vector<Config> configs;
  for (const Candidate& one : candidates) {
    if (belongs(one, contender)) configs.push_back(one.config);
  }
  return configs.empty() ? SearchSpace() : SearchSpace::listed(std::move(configs));
}

}  // namespace

CandidateSource::CandidateSource(const WorkItem& item, const DeviceInfo& device, std::vector<Contender> contenders,
                                 const TunerOptions& options, const StartingPoints& start)
    : problem_(item.problem),
      device_(device),
      make_strategy_(options.make_strategy),
      allocator_(options.make_allocator()),
      split_k_(options.split_k),
      bans_(options.bans) {
  const Problem& problem = item.problem;
  const FamilySpec& family = op_of(problem).family();
  std::stable_sort(contenders.begin(), contenders.end(), [&](const Contender& one, const Contender& other) {
    return is_baseline_before(family, one.solver, other.solver);
  });
  for (Contender& contender : contenders) {
    if (!is_wanted(contender.solver, options.libraries) || !is_named(contender.solver, item.solvers)) continue;
    if (!contender.support.yes) {
      refusals_.push_back(contender.solver + " " + contender.support.reason);
      continue;
    }
    if (const Ban* ban = ban_of_kernel(contender.solver)) {
      refusals_.push_back(contender.solver + " " + ban_clause(*ban));
      ++num_banned_[ban];
      continue;
    }
    if (const Candidate default_config{contender.solver, contender.version, contender.default_config};
        is_refused(default_config))
      refusals_.push_back(default_config.name() + " " + ban_clause(*ban_of(default_config)));
    else if (!lacks_default(contender))
      defaults_.push_back(default_config);
    versions_.insert(contender.versions.begin(), contender.versions.end());
    // Rows of one weight share a config, which must serve every M.
    if (options.protocol.require == Requirement::batch_invariant) contender.space = contender.invariant;
    contender.space = options.rules.apply(contender.space, contender.solver);
    if (!item.candidates.empty() || item.defaults_only) contender.space = space_of(item.candidates, contender);
    SolverSearch search{.contender = std::move(contender), .options = options.strategy};
    search.options.seed = derive_seed(options.strategy.seed, problem.key() + search.contender.solver);
    const auto begin_with = [&](const Config& config) {
      if (const auto index = search.contender.space.index_of(config)) search.start.push_back(*index);
    };
    begin_with(search.contender.default_config);
    for (const Config& config : search.contender.recommended) {
      if (config == search.contender.default_config) continue;
      if (const Candidate one{search.contender.solver, search.contender.version, config}; !is_refused(one))
        recommended_.push_back(one);
      begin_with(config);
    }
    if (start.incumbent && belongs(*start.incumbent, search.contender) && !is_refused(*start.incumbent)) {
      incumbent_ = start.incumbent;
      begin_with(start.incumbent->config);
    }
    for (const Candidate& neighbour : start.neighbours) {
      if (belongs(neighbour, search.contender)) begin_with(neighbour.config);
    }
    searches_.push_back(std::move(search));
  }
}

/// Whether a ban excludes the candidate; counts it if so.
bool CandidateSource::is_refused(const Candidate& candidate) {
  if (bans_->empty()) return false;
  const Ban* const ban = ban_of(candidate);
  if (ban != nullptr) ++num_banned_[ban];
  return ban != nullptr;
}

void CandidateSource::begin(const PriorKnowledge& known) {
  ATTUNE_CHECK(!std::exchange(has_begun_, true), "the search of {} begins twice", problem_.key());
  std::vector<SearchTask> tasks;
  for (SolverSearch& search : searches_) {
    const auto cost = known.costs.find(search.contender.solver);
    const Costs expected = cost == known.costs.end() ? Costs() : cost->second;
    states_.push_back({.solver = search.contender.solver, .trials = TrialLog(expected)});
    tasks.push_back(task_of(search, known));
    tasks.back().costs = expected;
    num_left_ += num_planned(tasks.back().domain, search.options);
  }
  for (size_t i = 0; i < searches_.size(); ++i) {
    StrategyOptions& options = searches_[i].options;
    options.spare_trials = num_left_ - num_planned(tasks[i].domain, options);
    searches_[i].strategy = make_strategy_(std::move(tasks[i]), options);
  }
}

SearchTask CandidateSource::task_of(const SolverSearch& search, const PriorKnowledge& known) const {
  SearchTask task{.domain = Domain(search.contender.space, problem_, device_),
                  .problem = problem_,
                  .device = device_,
                  .solver = search.contender.solver,
                  .start = search.start,
                  .prior = {},
                  .costs = {}};
  for (const auto& [candidate, trial] : known.trials) {
    const auto index =
        belongs(candidate, search.contender) ? search.contender.space.index_of(candidate.config) : std::nullopt;
    if (!index) continue;
    task.prior.push_back(trial);
    task.prior.back().index = *index;
  }
  return task;
}

std::vector<Candidate> CandidateSource::ask(size_t max_count) {
  ATTUNE_CHECK(has_begun_, "the search of {} has not begun", problem_.key());
  std::vector<Candidate> asked;
  const auto is_idle = [](const SolverState& state) { return state.idle; };
  for (SolverState& state : states_) state.idle = false;
  while (asked.size() < max_count && num_left_ > 0 && !std::all_of(states_.begin(), states_.end(), is_idle)) {
    const size_t next = allocator_->next(states_);
    ATTUNE_CHECK(next < searches_.size() && !states_[next].idle, "no solver to ask: {}", next);
    SolverSearch& search = searches_[next];
    const auto indices = search.strategy->ask(1);
    states_[next].idle = indices.empty();
    states_[next].num_asked += indices.size();
    for (const uint64_t index : indices) {
      count(search, index);
      Candidate candidate{search.contender.solver, search.contender.version, search.contender.space.at(index)};
      if ((split_k_ || split_k_of(candidate.config) == 1) && !is_refused(candidate))
        asked.push_back(std::move(candidate));
      else
        tell_search(next, {.index = index, .status = Status::cancelled});
    }
  }
  return asked;
}

void CandidateSource::tell(const Candidate& candidate, Trial trial) {
  ATTUNE_CHECK(has_begun_, "the search of {} has not begun", problem_.key());
  for (size_t search = 0; search < searches_.size(); ++search) {
    if (searches_[search].contender.solver != candidate.solver) continue;
    const auto index = searches_[search].contender.space.index_of(candidate.config);
    if (!index) continue;
    trial.index = *index;
    tell_search(search, trial);
  }
}

void CandidateSource::count(SolverSearch& search, uint64_t index) {
  if (search.counted.insert(index).second && num_left_ > 0) --num_left_;
}

void CandidateSource::tell_search(size_t search, const Trial& trial) {
  count(searches_[search], trial.index);
  states_[search].trials.add(trial);
  searches_[search].strategy->tell(trial);
}

std::vector<std::string> CandidateSource::remarks() const {
  std::vector<std::string> remarks;
  for (const SolverSearch& search : searches_) {
    const std::string remark = search.strategy ? search.strategy->remark() : "";
    if (!remark.empty()) remarks.push_back(search.contender.solver + ": " + remark);
  }
  for (const Ban& ban : bans_->all()) {
    if (num_banned_.contains(&ban)) remarks.push_back(fmt::format("not tried, {} {}", ban.candidate, ban_clause(ban)));
  }
  return remarks;
}

std::map<std::string, Costs> CandidateSource::costs() const {
  std::map<std::string, Costs> costs;
  for (const SolverState& state : states_) costs[state.solver] = state.trials.costs();
  return costs;
}

const Versions* CandidateSource::versions_of(const std::string& solver) const {
  const auto found = std::find_if(searches_.begin(), searches_.end(),
                                  [&](const SolverSearch& search) { return search.contender.solver == solver; });
  return found == searches_.end() ? nullptr : &found->contender.versions;
}

bool CandidateSource::exhausted() const {
  ATTUNE_CHECK(has_begun_, "the search of {} has not begun", problem_.key());
  return num_left_ == 0 || std::all_of(searches_.begin(), searches_.end(),
                                       [](const SolverSearch& search) { return search.strategy->exhausted(); });
}

}  // namespace attune
