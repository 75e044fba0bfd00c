// SPDX-License-Identifier: MIT
#include "solver/static/static_contenders.h"

namespace attune {
namespace {

constexpr std::string_view kOnDeviceOnly = "is a library, whose configs are known on the device only";

}  // namespace

Contender static_contender(const Solver& solver, const Problem& problem, const DeviceInfo& device) {
  Contender contender;
  contender.solver = solver.id();
  contender.version = solver.version();
  try {
    contender.support = solver.supports(problem, device);
    if (!contender.support.yes) return contender;
    const StaticSpace* stated = solver.static_space();
    if (stated == nullptr) {
      contender.support = Support::no(std::string(kOnDeviceOnly));
      return contender;
    }
    contender.space = stated->space(problem, device);
    contender.default_config = stated->default_config(problem, device);
    contender.invariant = stated->invariant_space(problem, device);
    contender.parts = solver.parts(problem, device);
  } catch (const std::exception& error) {
    contender.support = Support::no(error.what());
  }
  return contender;
}

std::vector<Contender> static_contenders(const Registry& registry, const Problem& problem, const DeviceInfo& device) {
  std::vector<Contender> contenders;
  for (const SolverEntry& entry : registry.entries()) {
    if (const Solver* solver = registry.find(entry.id))
      contenders.push_back(static_contender(*solver, problem, device));
    else
      contenders.push_back({.solver = entry.id, .support = Support::no(entry.unavailable)});
  }
  return contenders;
}

bool is_known_on_device_only(const Contender& contender) noexcept {
  return !contender.support.yes && contender.support.reason == kOnDeviceOnly;
}

std::optional<std::string> why_unknown(const Candidate& candidate, std::span<const Contender> contenders) {
  const Contender* contender = find_contender(contenders, candidate.solver);
  if (contender == nullptr) return "no solver of that name is in this program: " + candidate.solver;
  // A solver that could not be loaded here has no version.
  if (is_known_on_device_only(*contender) || contender->version.empty())
    return candidate.solver + " " + contender->support.reason;
  return std::nullopt;
}

}  // namespace attune
