// SPDX-License-Identifier: MIT
#include "fleet/agent/session_match.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "fleet/setup/measuring_protocol.h"

namespace attune {
namespace {

using Facts = std::map<std::string, std::string>;

/// `NAME=value` texts by name.
Facts facts_of_variables(const std::vector<std::string>& variables) {
  Facts facts;
  for (const std::string& one : variables) {
    const size_t equals = one.find('=');
    facts[one.substr(0, equals)] = equals == std::string::npos ? "" : one.substr(equals + 1);
  }
  return facts;
}

/// Adds the members of a description; a member of an inner object is `object.member`.
void add_members(const nlohmann::json& object, const std::string& prefix, Facts& facts) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_object())
      add_members(value, prefix + name + ".", facts);
    else
      facts[prefix + name] = value.is_string() ? value.get<std::string>() : value.dump();
  }
}

Facts facts_of_device(const std::string& text) {
  Facts facts;
  const auto object = nlohmann::json::parse(text, nullptr, false);
  if (object.is_object()) add_members(object, "device ", facts);
  return facts;
}

void compare_facts(const Facts& session, const Facts& here, std::vector<std::string>& found) {
  std::set<std::string> names;
  for (const auto& [name, value] : session) names.insert(name);
  for (const auto& [name, value] : here) names.insert(name);
  const auto text = [](const Facts& facts, const std::string& name) {
    const auto value = facts.find(name);
    return value == facts.end() ? std::string("absent") : fmt::format("'{}'", value->second);
  };
  for (const std::string& name : names) {
    const std::string pinned = text(session, name), present = text(here, name);
    if (pinned != present) found.push_back(fmt::format("{} is {} in the session and {} here", name, pinned, present));
  }
}

}  // namespace

std::vector<std::string> differences(const FleetEnvironment& session, const FleetEnvironment& here) {
  std::vector<std::string> found;
  if (session.fingerprint != here.fingerprint) {
    compare_facts(facts_of_device(session.device_json), facts_of_device(here.device_json), found);
    if (found.empty())
      found.push_back(fmt::format("the device's fingerprint is '{}' in the session and '{}' here", session.fingerprint,
                                  here.fingerprint));
  }
  Facts versions(here.versions.begin(), here.versions.end());
  if (!session.versions.contains(kProtocolComponent)) versions.erase(kProtocolComponent);  // A session of before.
  compare_facts({session.versions.begin(), session.versions.end()}, versions, found);
  compare_facts(facts_of_variables(session.variables), facts_of_variables(here.variables), found);
  return found;
}

std::vector<std::string> solver_differences(const std::vector<FleetSolver>& session,
                                            const std::vector<FleetSolver>& here) {
  Facts pinned, present;
  const auto fact_of = [](const FleetSolver& one) { return one.id + " for " + one.op; };
  for (const FleetSolver& one : session) pinned[fact_of(one)] = one.version;
  for (const FleetSolver& one : here) {
    if (pinned.contains(fact_of(one))) present[fact_of(one)] = one.version;
  }
  std::vector<std::string> found;
  compare_facts(pinned, present, found);
  return found;
}

}  // namespace attune
