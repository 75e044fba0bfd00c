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

/// Where and when an entry was appended.
struct Stamp {
  int64_t id = 0;     ///< Ascending in the order of appending; never used twice in a journal.
  int64_t at_ms = 0;  ///< Since 1970, UTC; 0: unknown (an entry of schema 1).
  int64_t run = 0;    ///< Id of its RunBegin; 0: of none, or unknown.
  bool operator==(const Stamp&) const = default;
};

/// Which entries a scan wants; an unset field matches all.
struct Query {
  std::optional<Problem> problem;
  std::optional<std::string> device;       ///< DeviceInfo::key().
  std::optional<std::string> fingerprint;  ///< Does not filter pardons, which hold everywhere.
  /// Records that were measured alike, Decisions of the same search beside that; Started, pardons and runs have none.
  std::optional<Protocol> protocol;
  int64_t after = 0;  ///< Only entries with a larger id.
  bool started = true, records = true, decisions = true, pardons = true, runs = false;
};

/// Which winner a Decision names, without the rest of it.
struct Winner {
  int64_t id = 0;              ///< The Decision's Stamp::id.
  std::string problem;         ///< Problem::key().
  std::string candidate_name;  ///< Candidate::name().
};

/// What was announced, measured and decided, when and in which run. Append-only; an entry is durable when append()
/// returns. One thread an object; several processes may share one file. Throws Error{database}: unwritable, torn, of a
/// newer version, disk full.
class Journal {
 public:
  virtual ~Journal() = default;
  /// All of them or none. About 0.2 ms on a disk.
  virtual void append(std::span<const Entry> entries) = 0;
  /// Entries appended from now on belong to this run. Returns its number.
  virtual int64_t begin_run(const RunBegin& run) = 0;
  /// The same for a run that another object of the same journal has begun; 0: none.
  virtual void join_run(int64_t run) = 0;
  /// In the order they were appended. The callback must not use the journal. Returns how many entries are damaged and
  /// were passed over: a journal that was opened for reading alone gives what it can, others throw.
  virtual size_t scan(const Query& query, const std::function<void(const Entry&, const Stamp&)>& visit) const = 0;
  /// Winners decided on devices of one fingerprint, oldest first, of entries with an id above `after`. About 2 µs each.
  virtual void visit_winners(const std::string& fingerprint, int64_t after,
                             const std::function<void(const Winner&)>& visit) const = 0;
  /// The newest decision for exactly this problem, fingerprint and protocol, made with exactly these versions.
  virtual std::optional<Decision> decision(const Problem& problem, const std::string& fingerprint,
                                           const Versions& versions, const Protocol& protocol) const = 0;
  /// Drops what a newer entry makes useless (samples of superseded records, Started that a Record followed) and frees
  /// the space.
  virtual void compact() = 0;
};

std::unique_ptr<Journal> open_memory_journal();
/// SQLite in WAL mode; a file of schema 1 is brought to schema 2 in one transaction. Created 0600 with its folder 0700;
/// a file of this user that others may read is made 0600. Throws Error{database|io} with one sentence that says what to
/// do.
std::unique_ptr<Journal> open_sql_journal(const std::filesystem::path& file);
/// For readers (`journal show`, `explain`): never writes; throws not_found when the file does not exist.
std::unique_ptr<Journal> open_sql_journal_read_only(const std::filesystem::path& file);

}  // namespace attune
