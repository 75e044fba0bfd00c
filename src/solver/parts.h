// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <vector>

#include "attune/problem.h"
#include "core/binary.h"
#include "core/candidate.h"
#include "core/space/search_space.h"
#include "solver/contender.h"
#include "solver/registry.h"

namespace attune {

/// A part of a composite candidate: the sub-problem and the candidate that its config names for it.
struct PartChoice {
  Problem problem;
  Candidate candidate;
};

/// The choices of a config, in the order of the contender's parameters; empty for a solver without parts. Throws
/// invalid_input for a value that names no candidate, and for a parameter of a part that there is not.
std::vector<PartChoice> part_choices(const Contender& contender, const Config& config);

/// Adds the candidates that a config names for the parts of its contender; `lists` by part.
void add_part_choices(const Contender& contender, const Config& config, std::vector<std::vector<Candidate>>& lists);

/// The space with the candidates of the parts' short lists as values; `lists` by part. Throws invalid_input for an
/// empty list that a parameter needs.
SearchSpace with_short_lists(const SearchSpace& space, std::span<const std::vector<Candidate>> lists);

/// All tasks of a candidate: its solver's, then those of its parts, in the order of part_choices(), each with the name
/// of its candidate. A part whose solver is not available has none. Throws like part_choices().
std::vector<CompileTask> all_compile_tasks(const Registry& solvers, const Contender& contender, const Problem& problem,
                                           const Config& config, const DeviceInfo& device);
/// Those of `all` that the solver's own tasks name, in their order. Costs as much as compile_tasks(): for a solver
/// without parts `all` is the same.
std::vector<Binary> own_binaries(const Solver& solver, const Problem& problem, const Config& config,
                                 const DeviceInfo& device, std::span<const Binary> all);

}  // namespace attune
