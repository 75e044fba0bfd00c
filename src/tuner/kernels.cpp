// SPDX-License-Identifier: MIT
#include "tuner/kernels.h"

#include <poll.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "search/prune.h"
#include "solver/parts.h"

namespace attune {

/// Returns nothing for candidates that the executor will refuse: sources are generated only from values in the solver's
/// space.
std::vector<CompileTask> Kernels::tasks_of(const Request& request) const {
  const Candidate& candidate = request.candidate;
  const Solver* solver = solvers_.find(candidate.solver);
  if (solver == nullptr || why_unusable(candidate, *request.problem, request.contender, device_)) return {};
  return all_compile_tasks(solvers_, *request.contender, *request.problem, candidate.config, device_);
}

/// Checks the file, because the cache may have been cleared since.
bool Kernels::has(const std::string& recipe) const {
  const auto found = results_.find(recipe);
  if (found == results_.end()) return false;
  std::error_code ignored;
  return !found->second.binary || std::filesystem::exists(found->second.binary->file, ignored);
}

void Kernels::submit(const std::vector<CompileTask>& tasks) {
  std::set<std::string> wanted;
  for (const CompileTask& task : tasks) {
    const std::string recipe = task.recipe();
    if (has(recipe) || !wanted.insert(recipe).second) continue;
    results_.erase(recipe);
    if (under_way_.insert(recipe).second) pool_.submit(task);
  }
}

/// Adds those to the cache that are neither there nor being compiled, and that another machine has.
void Kernels::fetch(std::span<const CompileTask> tasks) {
  if (exchange_ == nullptr) return;
  std::vector<CompileTask> wanted;
  for (const CompileTask& task : tasks) {
    const std::string recipe = task.recipe();
    if (has(recipe) || under_way_.contains(recipe) || !fetched_.insert(recipe).second) continue;
    std::optional<CompileResult> known;
    with_pool([&] { known = pool_.known(task); });
    if (!known || known->is_unbuilt) wanted.push_back(task);
  }
  if (wanted.empty()) return;
  for (Binary& binary : exchange_->fetch(wanted)) cache_.add(std::move(binary));
}

/// The tasks of each request, whose kernels are fetched at once.
std::vector<std::vector<CompileTask>> Kernels::fetched_tasks(std::span<const Request> requests) {
  std::vector<std::vector<CompileTask>> tasks;
  std::vector<CompileTask> all;
  for (const Request& request : requests) {
    tasks.push_back(tasks_of(request));
    if (exchange_ != nullptr) all.insert(all.end(), tasks.back().begin(), tasks.back().end());
  }
  fetch(all);
  return tasks;
}

/// Offers all of them each time: other machines may have lost one since.
void Kernels::offer(std::span<const BuildResult> built) {
  if (exchange_ == nullptr) return;
  std::vector<Binary> all;
  for (const BuildResult& one : built) all.insert(all.end(), one.binaries.begin(), one.binaries.end());
  if (!all.empty()) exchange_->offer(all);
}

/// Calls the pool. An error of code device becomes io: the measured device is not at fault.
void Kernels::with_pool(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    under_way_.clear();  // Some may never be answered.
    if (error.code() != ErrorCode::device) throw;
    fail(ErrorCode::io, "{}", error.what());
  } catch (...) {
    under_way_.clear();
    throw;
  }
}

void Kernels::collect(Milliseconds timeout) {
  with_pool([&] {
    for (CompileResult& one : pool_.wait(timeout)) {
      const std::string recipe = one.recipe;
      under_way_.erase(recipe);
      results_.insert_or_assign(recipe, std::move(one));
    }
  });
}

void Kernels::await(Milliseconds timeout) {
  pollfd ended{descriptor(), POLLIN, 0};
  ::poll(&ended, 1, static_cast<int>(timeout.count()));  // A signal may end it early; the caller calls again.
  serve();
}

bool Kernels::are_needed(std::span<const Request> requests) const {
  return std::any_of(requests.begin(), requests.end(), [&](const Request& one) { return !tasks_of(one).empty(); });
}

bool Kernels::are_ready(std::span<const std::string> recipes) {
  serve();
  return std::all_of(recipes.begin(), recipes.end(),
                     [&](const std::string& recipe) { return has(recipe) || pool_.ready(recipe); });
}

std::vector<std::vector<std::string>> Kernels::prefetch(std::span<const Request> requests) {
  std::vector<std::vector<std::string>> recipes(requests.size());
  const auto tasks = fetched_tasks(requests);
  for (size_t i = 0; i < requests.size(); ++i) {
    for (const CompileTask& task : tasks[i]) {
      recipes[i].push_back(task.recipe());
      if (!has(recipes[i].back())) with_pool([&] { pool_.prefetch(task); });
    }
  }
  return recipes;
}

std::vector<Kernels::BuildResult> Kernels::build(std::span<const Request> requests, const Stop& stop) {
  std::vector<std::vector<std::string>> recipes(requests.size());
  std::vector<CompileTask> tasks;
  for (size_t i = 0; i < requests.size(); ++i) {
    for (CompileTask& task : tasks_of(requests[i])) {
      recipes[i].push_back(task.recipe());
      tasks.push_back(std::move(task));
    }
  }
  constexpr Milliseconds kAsk{200};
  const auto is_missing = [&](const std::string& recipe) { return under_way_.contains(recipe); };
  const auto num_waiting = [&] {
    return static_cast<size_t>(std::count_if(recipes.begin(), recipes.end(), [&](const std::vector<std::string>& own) {
      return std::any_of(own.begin(), own.end(), is_missing);
    }));
  };
  fetch(tasks);
  with_pool([&] { submit(tasks); });
  collect(Milliseconds(0));  // Cached kernels are taken even if the caller wants to stop.
  for (size_t num = num_waiting(); num > 0 && !(stop && stop(num)); num = num_waiting()) collect(kAsk);
  std::vector<BuildResult> built(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    for (const std::string& recipe : recipes[i]) {
      const auto found = results_.find(recipe);
      if (found != results_.end()) built[i].seconds += found->second.seconds;
      if (found == results_.end())
        built[i].outcome = {.status = Status::cancelled, .detail = "stopped while its kernel was compiled"};
      else if (found->second.outcome.ok())
        built[i].binaries.push_back(*found->second.binary);
      else if (built[i].outcome.ok())
        built[i].outcome = found->second.outcome;
      if (found != results_.end()) built[i].is_unbuilt |= found->second.is_unbuilt;
    }
  }
  std::erase_if(results_, [](const auto& one) { return one.second.is_unbuilt; });  // Another machine may build them.
  offer(built);
  return built;
}

std::vector<Kernels::BuildResult> Kernels::find(std::span<const Request> requests) {
  std::vector<BuildResult> found(requests.size());
  const auto tasks = fetched_tasks(requests);
  for (size_t i = 0; i < requests.size(); ++i) {
    for (const CompileTask& task : tasks[i]) {
      std::optional<CompileResult> known;
      with_pool([&] { known = pool_.known(task); });
      if (!known)
        found[i].outcome = {.status = Status::cancelled, .detail = "its kernel is not in the cache"};
      else if (known->outcome.ok())
        found[i].binaries.push_back(*std::move(known->binary));
      else if (found[i].outcome.ok())
        found[i].outcome = std::move(known->outcome);
      if (known) found[i].is_unbuilt |= known->is_unbuilt;
    }
  }
  return found;
}

std::vector<Kernels::Request> Kernels::requests_of(const Problem& problem, std::span<const Contender> contenders,
                                                   std::span<const Candidate> candidates) {
  std::vector<Request> requests;
  for (const Candidate& candidate : candidates)
    requests.push_back({&problem, find_contender(contenders, candidate.solver), candidate});
  return requests;
}

std::vector<Kernels::BuildResult> Kernels::build(const Problem& problem, std::span<const Contender> contenders,
                                                 std::span<const Candidate> candidates, const Stop& stop) {
  return build(requests_of(problem, contenders, candidates), stop);
}

}  // namespace attune
