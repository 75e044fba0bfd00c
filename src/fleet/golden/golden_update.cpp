// SPDX-License-Identifier: MIT
#include "fleet/golden/golden_update.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "fleet/setup/session_device.h"

namespace attune {
namespace {

using GoldenEntries = std::map<std::string, GoldenEntry>;  // By configuration.

GoldenEntries entries_of(GoldenSets& golden, int64_t version, const std::string& device) {
  GoldenEntries entries;
  if (version > 0)
    golden.visit(version, device, [&](const GoldenEntry& one) { entries.emplace(one.configuration, one); });
  return entries;
}

std::string winner_text(const GoldenEntry& entry) {
  return fmt::format("{} {:.6g} µs", entry.decision.winner.name(), entry.us());
}

/// Whether the winner's gain was found on samples that did not choose it; true where no gain is claimed.
bool is_confirmed(const Decision& decision) {
  if (decision.verdict != Verdict::faster) return true;
  return std::ranges::any_of(decision.finalists,
                             [&](const Finalist& one) { return one.candidate == decision.winner && one.confirmed; });
}

/// What an update takes and refuses, before anything is stored.
class GoldenPlan {
 public:
  GoldenPlan(const GoldenUpdateOptions& options, GoldenSets& golden, const FleetSession& session)
      : options_(options), session_(session) {
    update_.device = device_of_session(session).key();
    there_ = entries_of(golden, options.version, update_.device);
    base_ = entries_of(golden, options.base, update_.device);
  }

  void add(const FleetAnswer& answer) {
    const std::string& key = answer.configuration.key;
    if (!answer.decision) {
      update_.lacking.emplace_back(key, answer.missing.empty() ? "it is not decided" : answer.missing);
      return;
    }
    const GoldenEntry entry{.device = update_.device,
                            .configuration = answer.configuration.id,
                            .fingerprint = session_.environment.fingerprint,
                            .session = session_.id,
                            .added_at = {},
                            .decision = *answer.decision};
    const auto own = there_.find(entry.configuration), inherited = base_.find(entry.configuration);
    const GoldenEntry* const old = own != there_.end()        ? &own->second
                                   : inherited != base_.end() ? &inherited->second
                                                              : nullptr;
    if (old != nullptr && old->session == entry.session && old->decision == entry.decision) {
      ++update_.num_same;
      return;
    }
    if (const auto why = golden_objection(entry, old)) {
      (options_.is_forced ? update_.accepted : update_.refused).emplace_back(key, *why);
      if (!options_.is_forced) return;
    }
    ++(old != nullptr ? update_.num_replaced : update_.num_added);
    additions_.push_back({entry, answer.kernels});
  }

  GoldenUpdate apply(GoldenSets& golden) {
    update_.num_copied = golden.update(options_.version, options_.base, additions_);
    return std::move(update_);
  }

 private:
  const GoldenUpdateOptions& options_;
  const FleetSession& session_;
  GoldenEntries there_, base_;
  std::vector<GoldenSets::Addition> additions_;
  GoldenUpdate update_;
};

void check_golden_version(GoldenSets& golden, int64_t version) {
  if (std::ranges::count(golden.versions(), version, &GoldenVersion::number) == 0)
    fail(ErrorCode::invalid_input,
         "there is no golden set {0}, `attune golden list` shows them; make it with: attune golden update --golden_v "
         "{0} --session N",
         version);
}

}  // namespace

std::optional<std::string> golden_objection(const GoldenEntry& entry, const GoldenEntry* there) {
  const Decision& decision = entry.decision;
  if (decision.incomplete || entry.us() <= 0) return "unverified: its contest was not completed";
  if (!is_confirmed(decision)) return "unverified: its gain was not confirmed on fresh samples";
  if (there == nullptr) return std::nullopt;
  if (there->fingerprint != entry.fingerprint)
    return "foreign: another device or driver measured the entry, so the times are not comparable";
  if (entry.us() > there->us() * (1 + kChangePct / 100))
    return fmt::format("slower: {} → {}, {:.3f}×", winner_text(*there), winner_text(entry), there->us() / entry.us());
  return std::nullopt;
}

GoldenUpdate update_golden(FleetStore& store, GoldenSets& golden, const GoldenUpdateOptions& options) {
  if (options.version == options.base)
    fail(ErrorCode::invalid_input, "--base names another version than --golden_v, got {} for both", options.base);
  if (options.base > 0) check_golden_version(golden, options.base);
  const FleetSession session = store.session(options.session);
  GoldenPlan plan(options, golden, session);
  store.visit_answers(options.session, options.tag, [&](const FleetAnswer& answer) { plan.add(answer); });
  return plan.apply(golden);
}

std::string golden_device(GoldenSets& golden, int64_t version, const std::string& device) {
  check_golden_version(golden, version);
  std::vector<std::string> devices;
  for (const GoldenVersion& one : golden.versions()) {
    if (one.number == version) devices.push_back(one.device);
  }
  if (device.empty() && devices.size() > 1)
    fail(ErrorCode::invalid_input, "golden set {} has several devices, name one with --device: {}", version,
         join(devices, ", "));
  if (device.empty()) return devices.front();
  if (std::ranges::find(devices, device) == devices.end())
    fail(ErrorCode::invalid_input, "golden set {} has no device '{}', it has {}", version, shown(device),
         join(devices, ", "));
  return device;
}

ResultChanges changes_of_golden(GoldenSets& golden, int64_t before, int64_t after, const std::string& device) {
  const std::string of = golden_device(golden, after, device);
  check_golden_version(golden, before);
  const GoldenEntries old_entries = entries_of(golden, before, of), new_entries = entries_of(golden, after, of);
  ResultChanges found;
  for (const auto& [configuration, entry] : old_entries) {
    const std::string key = entry.decision.problem.key();
    const auto other = new_entries.find(configuration);
    if (other == new_entries.end())
      found.changes.push_back(
          {ResultChange::Kind::missing, key, fmt::format("golden set {} does not have it", after), {}});
    else
      found.compare(key, entry.decision.winner.name(), entry.us(), other->second.decision.winner.name(),
                    other->second.us(), "µs");
  }
  for (const auto& [configuration, entry] : new_entries) {
    if (!old_entries.contains(configuration))
      found.changes.push_back({ResultChange::Kind::added, entry.decision.problem.key(), winner_text(entry), {}});
  }
  found.sort();
  return found;
}

ResultChanges changes_of_session(FleetStore& store, GoldenSets& golden, int64_t before, int64_t session) {
  check_golden_version(golden, before);
  const std::string device = device_of_session(store.session(session)).key();
  const GoldenEntries entries = entries_of(golden, before, device);
  ResultChanges found;
  store.visit_answers(session, "", [&](const FleetAnswer& answer) {
    const auto old = entries.find(answer.configuration.id);
    const std::string& key = answer.configuration.key;
    if (!answer.decision) {
      if (old != entries.end()) found.changes.push_back({ResultChange::Kind::missing, key, answer.missing, {}});
      return;
    }
    const Decision& decision = *answer.decision;
    if (old == entries.end())
      found.changes.push_back({ResultChange::Kind::added,
                               key,
                               fmt::format("{} {:.6g} µs", decision.winner.name(), decision.comparison.us),
                               {}});
    else
      found.compare(key, old->second.decision.winner.name(), old->second.us(), decision.winner.name(),
                    decision.comparison.us, "µs");
  });
  found.sort();
  return found;
}

}  // namespace attune
