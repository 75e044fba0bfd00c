// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "core/record.h"

namespace attune {

using Entry = std::variant<Started, Record, Decision, Pardoned, RunBegin, RunEnd>;

/// Id, time and run of an entry.
struct Stamp {
  int64_t id = 0;     ///< Ascending in append order; never reused in a journal.
  int64_t at_ms = 0;  ///< Milliseconds since 1970, UTC; 0: unknown (an entry of schema 1).
  int64_t run = 0;    ///< Id of its RunBegin; 0: no run, or unknown.
  bool operator==(const Stamp&) const = default;
};

/// Selects entries for a scan; an unset field matches all.
struct Query {
  std::optional<Problem> problem;
  std::optional<std::string> device;       ///< DeviceInfo::key().
  std::optional<std::string> fingerprint;  ///< Does not filter pardons, which are valid on every device.
  /// Matches Records with the same measuring options, and Decisions that also have the same search options. Started,
  /// pardons and runs have no protocol.
  std::optional<Protocol> protocol;
  int64_t after = 0;  ///< Only entries with a larger id.
  bool started = true, records = true, decisions = true, pardons = true, runs = false;
};

/// The winner of a Decision, without its other data.
struct Winner {
  int64_t id = 0;              ///< The Decision's Stamp::id.
  std::string problem;         ///< Problem::key().
  std::string candidate_name;  ///< Candidate::name().
};

/// Everything announced, measured and decided, with time and run. Append-only; an entry is durable when append()
/// returns. An object is not thread-safe; several processes may share one file. Throws Error{database} if the file is
/// unwritable, torn, or of a newer version, or if the disk is full.
class Journal {
 public:
  virtual ~Journal() = default;
  /// Appends all entries or none. Takes about 0.2 ms on a disk.
  virtual void append(std::span<const Entry> entries) = 0;
  /// Starts a run, to which entries appended from now on belong. Returns its number.
  virtual int64_t begin_run(const RunBegin& run) = 0;
  /// Like begin_run(), but joins a run that another object of the same journal has started; 0: none.
  virtual void join_run(int64_t run) = 0;
  /// Visits the matching entries in append order. The callback must not use the journal. Returns the number of damaged
  /// entries, which are skipped if the journal was opened read-only; otherwise damage throws.
  virtual size_t scan(const Query& query, const std::function<void(const Entry&, const Stamp&)>& visit) const = 0;
  /// Visits the winners of devices with one fingerprint, oldest first, for entries with an id above `after`. About 2 µs
  /// each.
  virtual void visit_winners(const std::string& fingerprint, int64_t after,
                             const std::function<void(const Winner&)>& visit) const = 0;
  /// Returns the newest decision with exactly this problem, fingerprint, protocol and versions.
  virtual std::optional<Decision> decision(const Problem& problem, const std::string& fingerprint,
                                           const Versions& versions, const Protocol& protocol) const = 0;
  /// Drops data that newer entries make useless (samples of superseded records, Started entries followed by a Record)
  /// and frees the space.
  virtual void compact() = 0;
};

std::unique_ptr<Journal> open_memory_journal();
/// Opens a SQLite file in WAL mode; a file of schema 1 is migrated to schema 2 in one transaction. A new file is
/// created with mode 0600 and its folder with 0700; a file of this user that others may read is changed to 0600. Throws
/// Error{database|io} with one sentence that names a remedy.
std::unique_ptr<Journal> open_sql_journal(const std::filesystem::path& file);
/// Opens a journal for readers (`journal show`, `explain`): never writes; throws not_found when the file does not
/// exist.
std::unique_ptr<Journal> open_sql_journal_read_only(const std::filesystem::path& file);

}  // namespace attune
