// SPDX-License-Identifier: MIT
#include "solver/parts.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"

namespace attune {

std::vector<PartChoice> part_choices(const Contender& contender, const Config& config) {
  std::vector<PartChoice> choices;
  if (contender.parts.empty()) return choices;
  for (const Parameter& parameter : contender.space.parameters()) {
    if (!parameter.part || !config.has(parameter.name)) continue;
    const auto part = static_cast<size_t>(*parameter.part);
    if (part >= contender.parts.size())
      fail(ErrorCode::invalid_input, "{} has no part {}, which its parameter '{}' is of", contender.solver, part,
           parameter.name);
    choices.push_back({contender.parts[part], Candidate::parse_nested(config.text(parameter.name))});
  }
  return choices;
}

void add_part_choices(const Contender& contender, const Config& config, std::vector<std::vector<Candidate>>& lists) {
  for (const Parameter& parameter : contender.space.parameters()) {
    if (!parameter.part || !config.has(parameter.name)) continue;
    std::vector<Candidate>& list = lists.at(static_cast<size_t>(*parameter.part));
    const auto choice = Candidate::parse_nested(config.text(parameter.name));
    if (std::find(list.begin(), list.end(), choice) == list.end()) list.push_back(choice);
  }
}

SearchSpace with_short_lists(const SearchSpace& space, std::span<const std::vector<Candidate>> lists) {
  SearchSpace result = space;
  for (const Parameter& parameter : space.parameters()) {
    if (!parameter.part) continue;
    std::vector<Value> values;
    for (const Candidate& one : lists[static_cast<size_t>(*parameter.part)]) values.emplace_back(one.nested_name());
    result = result.with_values(parameter.name, std::move(values));
  }
  return result;
}

std::vector<CompileTask> all_compile_tasks(const Registry& solvers, const Contender& contender, const Problem& problem,
                                           const Config& config, const DeviceInfo& device) {
  std::vector<CompileTask> tasks;
  const auto add_of = [&](const std::string& id, const Problem& one, const Config& own) {
    const Solver* solver = solvers.find(id);
    if (solver == nullptr) return;
    const std::string name = Candidate{id, std::string(solver->version()), own}.name();
    for (CompileTask& task : solver->compile_tasks(one, own, device)) {
      task.candidate = name;
      tasks.push_back(std::move(task));
    }
  };
  add_of(contender.solver, problem, config);
  for (const PartChoice& choice : part_choices(contender, config))
    add_of(choice.candidate.solver, choice.problem, choice.candidate.config);
  return tasks;
}

std::vector<Binary> own_binaries(const Solver& solver, const Problem& problem, const Config& config,
                                 const DeviceInfo& device, std::span<const Binary> all) {
  std::vector<Binary> own;
  for (const CompileTask& task : solver.compile_tasks(problem, config, device)) {
    const auto found = std::find_if(all.begin(), all.end(),
                                    [recipe = task.recipe()](const Binary& one) { return one.recipe == recipe; });
    if (found != all.end()) own.push_back(*found);
  }
  return own;
}

}  // namespace attune
