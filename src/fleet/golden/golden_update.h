// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fleet/exports/result_changes.h"
#include "store/fleet/fleet_store.h"
#include "store/fleet/golden_sets.h"

namespace attune {

struct GoldenUpdateOptions {
  int64_t version = 0;
  int64_t base = 0;  ///< Version whose entries are copied where the new one has none; 0: none.
  int64_t session = 0;
  std::string tag;         ///< Empty: every configuration with jobs in the session.
  bool is_forced = false;  ///< Take entries that golden_objection() refuses.
};

/// What an update changed. Texts are problems and reasons.
struct GoldenUpdate {
  std::string device;
  size_t num_added = 0, num_replaced = 0, num_copied = 0;
  size_t num_same = 0;                                        ///< The set has them already.
  std::vector<std::pair<std::string, std::string>> refused;   ///< The set keeps its entries.
  std::vector<std::pair<std::string, std::string>> accepted;  ///< With is_forced: taken in spite of an objection.
  std::vector<std::pair<std::string, std::string>> lacking;   ///< Not decided by the session.
};

/// Why a result must not replace an entry (null: there is no entry); nothing if it may. Unverified: its contest was not
/// completed, or its gain was not confirmed on fresh samples. Foreign: another device or driver measured the entry, so
/// the times are not comparable. Slower: by more than kChangePct.
std::optional<std::string> golden_objection(const GoldenEntry& entry, const GoldenEntry* there);

/// Takes the decisions of a session into a golden set. Entries that are refused stay as they are. All or nothing.
/// Throws invalid_input for a base without entries, and like FleetStore.
GoldenUpdate update_golden(FleetStore& store, GoldenSets& golden, const GoldenUpdateOptions& options);

/// The device of a golden set: `device`, or its only one. Throws invalid_input for a version that is not there, a
/// device that it lacks, and for several devices without `device`.
std::string golden_device(GoldenSets& golden, int64_t version, const std::string& device);

/// How a golden set differs from an earlier one on a device.
ResultChanges changes_of_golden(GoldenSets& golden, int64_t before, int64_t after, const std::string& device);
/// How the results of a session differ from a golden set on the session's device. Skips configurations without jobs in
/// the session; one without a decision is missing, with the reason.
ResultChanges changes_of_session(FleetStore& store, GoldenSets& golden, int64_t before, int64_t session);

}  // namespace attune
