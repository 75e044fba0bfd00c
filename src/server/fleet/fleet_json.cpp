// SPDX-License-Identifier: MIT
#include "server/fleet/fleet_json.h"

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace attune {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxText = 500;
constexpr const char* kStates[] = {"queued", "leased", "done", "failed", "excluded"};

ordered_json session_json(const SessionProgressRow& session) {
  ordered_json steps = ordered_json::array();
  int64_t num_left = 0, num_jobs = 0;
  for (const StepProgress& step : session.steps) {
    ordered_json one = {{"step", step.step}};
    for (const char* state : kStates) {
      const auto found = step.states.find(state);
      const int64_t count = found == step.states.end() ? 0 : found->second;
      one[state] = count;
      num_jobs += count;
      if (std::string_view(state) == "queued" || std::string_view(state) == "leased") num_left += count;
    }
    steps.push_back(std::move(one));
  }
  ordered_json failures = ordered_json::object();
  for (const auto& [failure, count] : session.failures) failures[shown(failure)] = count;
  return {{"session", session.id},
          {"created_ms", session.created_ms},
          {"state", session.state},
          {"reason", shown(session.reason, kMaxText)},
          {"ticket", shown(session.ticket, kMaxText)},
          {"image", shown(session.image, kMaxText)},
          {"device", session.device},
          {"jobs", num_jobs},
          {"left", num_left},
          {"steps", std::move(steps)},
          {"failures", std::move(failures)}};
}

}  // namespace

ordered_json fleet_json(const FleetSight& sight) {
  const FleetOverview& overview = sight.overview;
  ordered_json sessions = ordered_json::array(), held = sessions, events = sessions;
  for (const SessionProgressRow& one : overview.sessions) sessions.push_back(session_json(one));
  for (const HeldJobRow& one : overview.held)
    held.push_back({{"agent", shown(one.agent, kMaxText)},
                    {"session", one.session},
                    {"job", one.job},
                    {"step", one.step},
                    {"solver", shown(one.solver, kMaxText)},
                    {"problem", one.problem},
                    {"since_ms", one.since_ms},
                    {"lease_left_s", one.lease_left_s}});
  for (const FleetEventRow& one : overview.events)
    events.push_back({{"id", one.id},
                      {"at_ms", one.at_ms},
                      {"session", one.session},
                      {"job", one.job},
                      {"agent", shown(one.agent, kMaxText)},
                      {"kind", one.kind},
                      {"text", shown(one.text, kMaxText)}});
  return {{"store", overview.store},
          {"failure", sight.failure},
          {"sessions", std::move(sessions)},
          {"held", std::move(held)},
          {"events", std::move(events)}};
}

}  // namespace attune
