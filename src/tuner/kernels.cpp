// SPDX-License-Identifier: MIT
#include "tuner/kernels.h"

#include <set>

#include "base/error.h"

namespace attune {

std::vector<CompileTask> Kernels::tasks_of(const Problem& problem, const Candidate& candidate) const {
  const Solver* solver = solvers_.find(candidate.solver);
  // A recorded candidate of a solver that is not here is refused when it is admitted, with the reason.
  return solver == nullptr ? std::vector<CompileTask>{} : solver->compile_tasks(problem, candidate.config, device_);
}

std::vector<Kernels::Built> Kernels::build(const Problem& problem, std::span<const Candidate> candidates) {
  std::vector<Built> built(candidates.size());
  std::vector<std::vector<std::string>> recipes(candidates.size());
  std::vector<CompileTask> wanted;
  std::set<std::string> new_recipes;
  for (size_t i = 0; i < candidates.size(); ++i) {
    try {
      for (CompileTask& task : tasks_of(problem, candidates[i])) {
        recipes[i].push_back(task.recipe());
        if (!compiled_.contains(recipes[i].back()) && new_recipes.insert(recipes[i].back()).second)
          wanted.push_back(std::move(task));
      }
    } catch (const Error& error) {
      if (error.code() == ErrorCode::internal) throw;
      built[i].outcome = {.status = Status::unsupported, .detail = error.what()};  // a config of another version
    }
  }
  for (Compiled& one : pool_.compile(wanted)) {
    const std::string recipe = one.recipe;
    compiled_.insert_or_assign(recipe, std::move(one));
  }
  for (size_t i = 0; i < candidates.size(); ++i) {
    for (const std::string& recipe : recipes[i]) {
      const Compiled& one = compiled_.at(recipe);
      if (one.outcome.ok())
        built[i].binaries.push_back(*one.binary);
      else if (built[i].outcome.ok())
        built[i].outcome = one.outcome;
    }
  }
  return built;
}

}  // namespace attune
