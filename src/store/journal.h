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

using Entry = std::variant<Started, Record, Decision, Pardoned>;

/// Which entries a scan wants; an unset field matches all.
struct Query {
  std::optional<Problem> problem;
  std::optional<std::string> device;  ///< DeviceInfo::key().
  std::optional<Protocol> protocol;   ///< Does not filter Started and Pardoned, which have none.
  bool started = true, records = true, decisions = true, pardons = true;
};

/// What was announced, measured and decided. Append-only; an entry is durable when append() returns. One thread an
/// object; several processes may share one file. Throws Error{database}: unwritable, torn, of a newer version, disk
/// full.
class Journal {
 public:
  virtual ~Journal() = default;
  /// All of them or none. About 0.2 ms on a disk.
  virtual void append(std::span<const Entry> entries) = 0;
  /// In the order they were appended. The callback must not use the journal. Returns how many entries are damaged and
  /// were passed over: a journal that was opened for reading alone gives what it can, others throw.
  virtual size_t scan(const Query& query, const std::function<void(const Entry&)>& visit) const = 0;
  /// The newest decision for exactly this problem, device and protocol whose versions are not stale.
  virtual std::optional<Decision> decision(const Problem& problem, const std::string& device, const Versions& versions,
                                           const Protocol& protocol) const = 0;
  /// Drops what a newer entry makes useless (samples of superseded records, Started that a Record followed) and frees
  /// the space.
  virtual void compact() = 0;
};

std::unique_ptr<Journal> open_memory_journal();
/// SQLite in WAL mode, created 0600 with its folder 0700; a file of this user that others may read is made 0600. Throws
/// Error{database|io} with one sentence that says what to do.
std::unique_ptr<Journal> open_sql_journal(const std::filesystem::path& file);
/// For readers (`journal show`, `explain`): never writes; throws not_found when the file does not exist.
std::unique_ptr<Journal> open_sql_journal_read_only(const std::filesystem::path& file);

}  // namespace attune
