// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "store/query.h"

namespace attune {

/// The types of Entry, in its order.
enum class EntryKind : uint8_t { started, record, decision, pardon, run_begin, run_end, ban };

/// As the entry's JSON has its type: `decision`, `pardoned`; `ban` also for one that was lifted.
std::string_view name(EntryKind kind) noexcept;

/// What an entry is about, which a journal tells without decoding the entry. Texts that a kind of entry lacks are
/// empty; those of an entry of schema 1 are, but for problem and device.
struct EntryHeading {
  Stamp stamp;
  EntryKind kind = EntryKind::started;
  std::string problem;      ///< Problem::key().
  std::string device;       ///< DeviceInfo::key().
  std::string fingerprint;  ///< DeviceInfo::fingerprint().
  std::string solver;       ///< Of the candidate: the one that was tried, or the winner.
  std::string candidate;    ///< Candidate::name().
  std::string stage;        ///< Of a Record.
  std::string status;       ///< Outcome of a Record, verdict of a Decision, ending of a run.
  bool operator==(const EntryHeading&) const = default;
};

EntryHeading heading_of(const Entry& entry, const Stamp& stamp);

}  // namespace attune
