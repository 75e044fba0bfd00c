// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "server/journal/seen_keys.h"
#include "store/journal.h"

namespace attune {

/// A verdict that puts a candidate into quarantine.
struct QuarantineVerdict {
  Stamp stamp;
  std::string problem, device, candidate;  ///< Keys and the candidate's name.
  std::string status;
};

/// What a journal says of candidates that crashed or ran past their deadline and were neither verified again nor
/// pardoned since, and of bans. Memory: some 600 bytes for each such candidate of a problem, of which the newest are
/// kept, and until the oldest entry is read 21 bytes for each candidate that was verified.
class QuarantineIndex {
 public:
  static constexpr size_t kMaxDeaths = 20'000, kMaxVerdicts = 3'000'000;

  QuarantineIndex() : QuarantineIndex(kMaxDeaths, kMaxVerdicts) {}
  /// Deaths older than the newest `max_deaths`, or than the verdicts on the newest `max_verdicts` candidates, are left
  /// out.
  QuarantineIndex(size_t max_deaths, size_t max_verdicts) : max_deaths_(max_deaths), seen_(max_verdicts) {}

  /// Entries come in ascending order of ids (`newest`) or, older than all, in descending order.
  void add_newest(const EntryHeading& heading);
  void add_oldest(const EntryHeading& heading);
  /// Forgets what only older entries need: there are none.
  void end_oldest();
  /// In any order.
  void add(const BanChange& change, const Stamp& stamp);

  /// The newest death of each candidate, device and problem, newest first. `before`: only smaller ids; 0: all.
  std::vector<QuarantineVerdict> newest(int64_t before, size_t limit) const;
  /// The newest entry that made this ban; nothing if there is none.
  std::optional<std::pair<BanChange, Stamp>> made(const Ban& ban) const;

 private:
  using Place = std::tuple<std::string, std::string, std::string>;  // Device, candidate, problem.

  void put(const EntryHeading& heading);
  void erase(std::map<Place, int64_t>::iterator place);

  size_t max_deaths_;
  std::map<int64_t, QuarantineVerdict> deaths_;  ///< By id.
  std::map<Place, int64_t> places_;              ///< Of deaths_.
  SeenKeys seen_;                                ///< What newer entries say something of: older ones are superseded.
  bool has_oldest_ = false;
  std::map<Place, std::pair<BanChange, Stamp>> bans_;
};

}  // namespace attune
