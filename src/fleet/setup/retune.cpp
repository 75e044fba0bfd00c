// SPDX-License-Identifier: MIT
#include "fleet/setup/retune.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "fleet/setup/measuring_protocol.h"
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

/// By configuration: the imported session of the same device that has results of it.
std::map<std::string, std::string> imported_results(FleetStore& store, const FleetSession& session,
                                                    ForeignResults& foreign) {
  const std::string device = device_of_session(session).key();
  std::map<std::string, std::string> sources;
  for (const FleetSession& one : store.sessions()) {
    const std::string& source = one.custody.source;
    if (source.empty() || device_of_session(one).key() != device) continue;
    for (const std::string& id : foreign.configurations(source)) sources.insert_or_assign(id, source);
  }
  return sources;
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
  const auto protocol = environment.versions.find(kProtocolComponent);
  const std::string measured = measuring_protocol(decision.protocol);
  if (protocol != environment.versions.end() && measured != protocol->second)
    return fmt::format("the measuring protocol was '{}' and is '{}'", measured, protocol->second);
  return {};
}

Retune load_retune_jobs(FleetStore& store, int64_t session, const RetuneOptions& options, ForeignResults* foreign) {
  const FleetSession pinned = store.session(session);
  const auto decisions = options.only_stale ? last_decisions(store, pinned) : std::map<std::string, Decision>();
  const auto imported = options.only_stale && foreign != nullptr ? imported_results(store, pinned, *foreign)
                                                                 : std::map<std::string, std::string>();
  Retune retune;
  store.visit_configurations("", [&](const FleetConfiguration& one) {
    if (options.only_recurrent && !one.is_recurrent) return;
    std::string reason;
    if (options.only_stale) {
      const auto decision = decisions.find(one.id);
      const auto source = imported.find(one.id);
      if (decision != decisions.end())
        reason = why_void(decision->second, pinned.environment);
      else if (source != imported.end())
        reason = "its results are imported from " + source->second;
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
