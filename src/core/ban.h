// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace attune {

/// A kernel that people do not want served or tried, whatever was measured of it.
struct Ban {
  std::string candidate;  ///< Candidate::name(), or a solver's id: all of its candidates, of every version.
  std::string device;     ///< DeviceInfo::key(); empty: every device.
  std::string problem;    ///< Problem::key(); empty: every problem.
  std::string reason;     ///< One line.
  bool operator==(const Ban&) const = default;
  /// Whether both are about the same: only the reasons may differ.
  bool is_of_same(const Ban& other) const noexcept {
    return candidate == other.candidate && device == other.device && problem == other.problem;
  }
};

/// A Ban that was made or lifted, as the journal keeps it.
struct BanChange {
  Ban ban;
  std::string by;       ///< `user@host`.
  bool lifted = false;  ///< False: made.
  bool operator==(const BanChange&) const = default;
};

/// Clause about a kernel: `is banned: wrong in our model`.
std::string ban_clause(const Ban& ban);
/// Whether a text can be a Ban's candidate: one that Candidate::parse() reads, or what a solver's id is made of.
bool is_bannable(std::string_view candidate);

/// All Bans that are in force, found by kernel. Immutable, hence thread-safe.
class BanList {
 public:
  BanList() = default;
  explicit BanList(std::vector<Ban> bans);

  bool empty() const noexcept { return bans_.empty(); }
  const std::vector<Ban>& all() const noexcept { return bans_; }
  /// The Ban of a kernel on a device for every problem; null: none. Costs two searches in a map.
  const Ban* find(std::string_view kernel, std::string_view device) const { return find(kernel, device, {}); }
  /// Like the above, also for this one problem (its key).
  const Ban* find(std::string_view kernel, std::string_view device, std::string_view problem) const;
  /// Names all that find() depends on; empty without Bans.
  std::string text() const;

 private:
  const Ban* find_named(std::string_view candidate, std::string_view device, std::string_view problem) const;

  std::vector<Ban> bans_;
  std::multimap<std::string, size_t, std::less<>> by_candidate_;  ///< Index in bans_.
};

}  // namespace attune
