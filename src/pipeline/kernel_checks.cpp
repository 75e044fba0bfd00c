// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "core/candidate.h"
#include "pipeline/checks.h"
#include "solver/contender.h"
#include "tables/captured_sources.h"
#include "tables/coverage.h"

namespace attune {
namespace {

const SolverEntry* find_entry(const Registry& solvers, std::string_view id) {
  const auto all = solvers.entries();
  const auto found = std::find_if(all.begin(), all.end(), [&](const SolverEntry& one) { return one.id == id; });
  return found == all.end() ? nullptr : &*found;
}

// Also libtypes of the older tuners: there they mean any kernel of PyTorch or Triton, and the kernel's name stands for
// no kernel (`native`, `auto`).
constexpr std::string_view kSharedLibtypes[] = {"torch", "triton"};

/// Whether a row whose kernel is no candidate was meant to name one: candidates alone have an `@`, and their libtype is
/// the first part of a solver's id.
bool is_meant_as_candidate(const TableRow& row, const Registry& solvers) {
  if (row.kernel_name.find('@') != std::string::npos) return true;
  if (std::ranges::find(kSharedLibtypes, row.libtype) != std::end(kSharedLibtypes)) return false;
  const auto all = solvers.entries();
  return !row.libtype.empty() && std::any_of(all.begin(), all.end(), [&](const SolverEntry& one) {
    return one.id.starts_with(row.libtype + ".");
  });
}

/// Why this build lacks the kernel that a row of one of its ops names; nothing if it has it or cannot tell.
std::optional<std::string> why_unknown(const TableRow& row, const TableRules& rules) {
  const auto is_of_build = [&](const Candidate& kernel) -> std::optional<std::string> {
    const SolverEntry* entry = find_entry(*rules.solvers, kernel.solver);
    if (entry == nullptr) return fmt::format("this build has no solver of that name: '{}'", shown(kernel.solver));
    // A library that this machine lacks is no defect of the table.
    const Solver* solver = rules.solvers->find(kernel.solver);
    if (solver == nullptr) return std::nullopt;
    const DeviceLimits* limits = find_limits(rules.devices, row.gfx, row.num_units);
    if (limits != nullptr && limits->is_described)
      return why_not_here(kernel, as_looked_up(row.problem, limits->device), limits->device, *rules.solvers);
    const std::string_view version = std::string_view(kernel.version).substr(0, kernel.version.find('+'));
    if (version == solver->version()) return std::nullopt;
    return fmt::format("made with {} {}, this build has {}", kernel.solver, shown(version), solver->version());
  };
  try {
    return row_kernel(row.kernel_name, row.layout, is_of_build).why_unservable;
  } catch (const Error& error) {
    return fmt::format("its key is not a valid problem: {}", error.what());
  }
}

}  // namespace

void check_kernels(const TableInput& input, FindingList& findings) {
  if (input.rules.solvers == nullptr) return;
  for (const TableRow& row : input.table.rows()) {
    if (!is_meant_as_candidate(row, *input.rules.solvers)) continue;
    if (const auto why = why_unknown(row, input.rules)) findings.add(FindingKind::unknown_kernel, row, *why);
  }
}

}  // namespace attune
