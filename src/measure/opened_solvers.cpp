// SPDX-License-Identifier: MIT
#include "measure/opened_solvers.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "compile/compiler.h"
#include "core/candidate.h"
#include "search/weight_group.h"
#include "solver/library_build.h"
#include "solver/parts.h"

namespace attune {
namespace {

constexpr Milliseconds kLibraryLimit{120'000};  // to open a library and ask it for versions and space

/// The packed layouts of the weights that configs of a space name.
std::set<std::string> packed_layouts_of(const SearchSpace& space) {
  std::set<std::string> layouts;
  for (const Parameter& parameter : space.parameters()) {
    if (parameter.name != kLayoutParameter) continue;
    for (const Value& value : parameter.values) layouts.insert(to_text(value));
  }
  for (const ConfigTable::Column& column : space.table().columns()) {
    if (column.name != kLayoutParameter) continue;
    for (const Value& value : column.values) layouts.insert(to_text(value));
  }
  layouts.erase(kPlainLayout);
  return layouts;
}

Contender without(const SolverEntry& entry, std::string reason) {
  Contender contender;
  contender.solver = entry.id;
  if (entry.solver != nullptr) contender.version = entry.solver->version();
  contender.support = Support::no(std::move(reason));
  return contender;
}

/// The space of a contender whose version and default config are known. `candidates`: see request::Open; null: not set.
SearchSpace space_of(Backend& backend, const Problem& problem, const Contender& contender,
                     const std::vector<Candidate>* candidates) {
  if (candidates == nullptr || !backend.offers(problem, contender.default_config)) return backend.space(problem);
  std::vector<Config> offered = {contender.default_config};
  for (const Config& one : contender.recommended) {
    if (one != contender.default_config) offered.push_back(one);
  }
  for (const Candidate& one : *candidates) {
    const bool is_own = one.solver == contender.solver && one.version == contender.version;
    if (!is_own || std::ranges::find(offered, one.config) != offered.end()) continue;
    if (backend.offers(problem, one.config) == true) offered.push_back(one.config);
  }
  return SearchSpace::listed(std::move(offered));
}

}  // namespace

OpenedSolvers::OpenedSolvers(Device& device, const Registry& registry, Announcer* announcer)
    : device_(device), registry_(registry), announcer_(announcer) {}

std::vector<Contender> OpenedSolvers::contenders(const Problem& problem, const Candidates* candidates) {
  std::vector<Contender> all;
  for (const SolverEntry& entry : registry_.entries()) {
    if (announcer_ != nullptr && announcer_->is_stopped()) break;
    const auto place = static_cast<uint32_t>(all.size());
    if (announcer_ != nullptr) announcer_->announce(kLibrarySlots + place, kLibraryLimit);
    const auto skipped = skipped_.find(place);
    all.push_back(skipped == skipped_.end() ? contender(entry, problem, candidates) : without(entry, skipped->second));
    if (announcer_ != nullptr && !device_.healthy())
      announcer_->end_worker(fmt::format("{} stopped working when {} was asked", device_.info().id, entry.id));
  }
  if (announcer_ != nullptr) announcer_->announce(0, {});
  return all;
}

Contender OpenedSolvers::contender(const SolverEntry& entry, const Problem& problem, const Candidates* candidates) {
  // A worker opens the module here.
  if (!entry.device_kind.empty() && entry.device_kind != device_.info().kind)
    return without(entry, fmt::format("runs on a {} only", entry.device_kind));
  if (registry_.find(entry.id) == nullptr) return without(entry, entry.unavailable);
  try {
    Support support = entry.solver->supports(problem, device_.info());
    if (!support.yes) return without(entry, support.reason);
    Library& opened = library(entry);
    if (!opened.backend) return without(entry, opened.unavailable);
    Contender contender;
    contender.solver = entry.id;
    contender.support = std::move(support);
    contender.versions = opened.backend->versions();
    contender.version = candidate_version(*entry.solver, contender.versions);
    contender.versions.insert(opened.builds.begin(), opened.builds.end());
    contender.default_config = opened.backend->default_config(problem);
    require_compilers(entry.solver->compile_tasks(problem, contender.default_config, device_.info()), contender);
    contender.recommended = opened.backend->recommended(problem);
    contender.space = space_of(*opened.backend, problem, contender, candidates);
    contender.invariant = opened.backend->invariant_space(problem);
    contender.parts = entry.solver->parts(problem, device_.info());
    return contender;
  } catch (const std::exception& error) {
    return without(entry, error.what());
  }
}

std::map<std::string, WeightPacking> OpenedSolvers::packings(const Problem& problem,
                                                             std::vector<Contender>& contenders) {
  std::map<std::string, WeightPacking> all;
  for (Contender& contender : contenders) {
    if (!contender.support.yes) continue;
    try {
      auto names = packed_layouts_of(contender.space);
      names.merge(packed_layouts_of(contender.invariant));
      for (const std::string& name : names) {
        if (!all.contains(name)) all.emplace(name, packing_of({name}, problem, backend(contender.solver), device_));
      }
    } catch (const std::exception& error) {
      contender.support = Support::no(error.what());
    }
  }
  return all;
}

/// Returns why a candidate cannot be prepared. A limited space need not list it.
std::optional<std::string> OpenedSolvers::why_refused(const Problem& problem, const Candidate& candidate,
                                                      const Contender* contender, SpaceListing listing) {
  auto why = why_unusable(candidate, problem, contender, device_.info());
  if (listing == SpaceListing::whole) return why;
  const bool is_here = contender != nullptr && contender->support.yes && contender->version == candidate.version;
  if (why && is_here && backend(candidate.solver).offers(problem, candidate.config) == true) return std::nullopt;
  return why;
}

std::unique_ptr<Plan> OpenedSolvers::prepare(const Problem& problem, const Candidate& candidate,
                                             const Contender* contender, std::span<const Binary> binaries,
                                             SpaceListing listing) {
  if (const auto why = why_refused(problem, candidate, contender, listing)) fail(ErrorCode::unavailable, "{}", *why);
  Backend& own_backend = backend(candidate.solver);
  if (contender->parts.empty()) return own_backend.prepare(problem, candidate.config, {binaries, {}});
  const auto own = own_binaries(*registry_.find(candidate.solver), problem, candidate.config, device_.info(), binaries);
  const auto of_part = [&](const Problem& part, const Candidate& one) { return prepare_part(part, one, binaries); };
  return own_backend.prepare(problem, candidate.config, {own, of_part});
}

/// `binaries`: of the whole candidate.
std::unique_ptr<Plan> OpenedSolvers::prepare_part(const Problem& part, const Candidate& candidate,
                                                  std::span<const Binary> binaries) {
  const auto entries = registry_.entries();
  const auto entry =
      std::find_if(entries.begin(), entries.end(), [&](const SolverEntry& one) { return one.id == candidate.solver; });
  if (entry == entries.end())
    fail(ErrorCode::unavailable, "no solver of that name is available on this machine: {}", candidate.solver);
  const Contender offered = contender(*entry, part);
  // Check before asking for its tasks: sources are generated only from values in the solver's space.
  if (const auto why = why_unusable(candidate, part, &offered, device_.info()))
    fail(ErrorCode::unavailable, "{}", *why);
  if (!offered.parts.empty()) return prepare(part, candidate, &offered, binaries);
  return prepare(part, candidate, &offered,
                 own_binaries(*entry->solver, part, candidate.config, device_.info(), binaries));
}

/// Throws unavailable, naming the package to install, if a compiler of the tasks is missing and no toolchain stands for
/// it.
void OpenedSolvers::require_compilers(const std::vector<CompileTask>& tasks, Contender& contender) const {
  for (const CompileTask& task : tasks) {
    const Compiler* const known = find_compiler(task.compiler);
    if (known == nullptr) continue;
    const auto stored = stored_toolchains_.find(task.compiler);
    if (stored == stored_toolchains_.end())
      known->toolchain();
    else if (!stored->second.empty() && toolchain_if_any(task.compiler).empty())
      contender.versions.insert_or_assign("compiler." + task.compiler, stored->second);
  }
}

Backend& OpenedSolvers::backend(std::string_view solver) {
  const auto found = libraries_.find(solver);
  ATTUNE_CHECK(found != libraries_.end() && found->second.backend, "{} is not open", solver);
  return *found->second.backend;
}

OpenedSolvers::Library& OpenedSolvers::library(const SolverEntry& entry) {
  const auto [found, is_new] = libraries_.try_emplace(entry.id);
  Library& opened = found->second;
  if (!is_new) return opened;
  try {
    opened.backend = entry.solver->open(device_);
    for (const EntryPoint& entry_point : opened.backend->entry_points()) {
      if (const auto build = library_build(entry_point.library); !build.empty())
        opened.builds["build." + entry_point.library] = build;
    }
    // The module determines how the library is called, so its build is recorded, too.
    const std::string module = std::filesystem::path(entry.module).filename();
    if (!module.empty()) opened.builds["build." + module] = library_build(module);
  } catch (const std::exception& error) {
    opened.unavailable = error.what();
  }
  return opened;
}

}  // namespace attune
