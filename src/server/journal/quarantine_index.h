// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "store/journal.h"

namespace attune {

/// What a journal says of candidates that crashed or ran past their deadline, and of bans. Entries may come in any
/// order. Memory: some 300 bytes for each such candidate of a problem.
class QuarantineIndex {
 public:
  void add(const EntryHeading& heading);
  void add(const BanChange& change, const Stamp& stamp);

  /// The newest such record of each candidate, device and problem, newest first; of those that were pardoned since,
  /// none. A record that was made since, by which the candidate is well again, is not known here. `before`: only
  /// smaller ids; 0: all.
  std::vector<EntryHeading> newest(int64_t before, size_t limit) const;
  /// The newest entry that made this ban; nothing if there is none.
  std::optional<std::pair<BanChange, Stamp>> made(const Ban& ban) const;

 private:
  using Place = std::pair<std::string, std::string>;  // Device, candidate.

  std::map<std::tuple<std::string, std::string, std::string>, int64_t> newest_;  ///< By place and problem.
  std::map<int64_t, EntryHeading> deaths_;                                       ///< Those of newest_, by id.
  std::map<Place, int64_t> pardons_;                                             ///< The newest of each.
  std::map<std::tuple<std::string, std::string, std::string>, std::pair<BanChange, Stamp>> bans_;
};

}  // namespace attune
