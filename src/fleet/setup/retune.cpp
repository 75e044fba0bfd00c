// SPDX-License-Identifier: MIT
#include "fleet/setup/retune.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "fleet/setup/session_device.h"

namespace attune {
namespace {

/// The last decision of each configuration on the device of a session, in that session or an earlier one.
std::map<std::string, Decision> last_decisions(FleetStore& store, const FleetSession& session) {
  const std::string device = device_of_session(session).key();
  std::map<std::string, Decision> decisions;
  for (const FleetSession& one : store.sessions()) {
    if (one.id > session.id || device_of_session(one).key() != device) continue;
    store.visit_answers(one.id, "", [&](const FleetAnswer& answer) {
      if (answer.decision) decisions.insert_or_assign(answer.configuration.id, *answer.decision);
    });
  }
  return decisions;
}

}  // namespace

std::string why_void(const Decision& decision, const FleetEnvironment& environment) {
  if (decision.fingerprint != environment.fingerprint) return "the device or its driver changed";
  for (const auto& [component, version] : decision.versions) {
    const auto present = environment.versions.find(component);
    const bool is_present = present != environment.versions.end();
    const Versions recorded = {{component, version}},
                   here = is_present ? Versions{{component, present->second}} : Versions();
    if (compare(recorded, here) == Age::stale)
      return fmt::format("{} was {} and is {}", component, version, is_present ? present->second : "absent");
  }
  return {};
}

Retune load_retune_jobs(FleetStore& store, int64_t session, const RetuneOptions& options) {
  const FleetSession pinned = store.session(session);
  const auto decisions = options.only_stale ? last_decisions(store, pinned) : std::map<std::string, Decision>();
  Retune retune;
  store.visit_configurations("", [&](const FleetConfiguration& one) {
    if (options.only_recurrent && !one.is_recurrent) return;
    std::string reason;
    if (options.only_stale) {
      const auto decision = decisions.find(one.id);
      if (decision == decisions.end()) return;
      reason = why_void(decision->second, pinned.environment);
      if (reason.empty()) return;
    }
    retune.configurations.push_back({one, std::move(reason)});
  });
  if (retune.configurations.empty()) return retune;
  retune.tag = fmt::format("retune-{}", session);
  std::vector<FleetConfiguration> tagged;
  for (const RetunedConfiguration& one : retune.configurations) {
    tagged.push_back(one.configuration);
    tagged.back().tags = {retune.tag};
    tagged.back().is_recurrent = false;  // The original tag says it.
  }
  store.add_configurations(tagged);
  retune.num_jobs = store.load_jobs({.session = session,
                                     .tag = retune.tag,
                                     .steps = {FleetStep::perf_compile, FleetStep::perf_eval},
                                     .only_applicable = false,
                                     .reason = pinned.reason,
                                     .solvers = {}});
  return retune;
}

}  // namespace attune
