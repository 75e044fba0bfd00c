// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/record.h"
#include "store/heading.h"
#include "store/query.h"

namespace attune {

using OutcomeVisitor = std::function<void(const EntryHeading&, const Outcome&)>;

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
  /// Visits the matching entries in append order, or in the reverse. The callback must not use the journal. Returns the
  /// number of damaged entries, which are skipped if the journal was opened read-only; otherwise damage throws. About
  /// 70 µs an entry.
  virtual size_t scan(const Query& query, const std::function<void(const Entry&, const Stamp&)>& visit) const = 0;
  /// Visits the matching Records in the same order, each as its heading and outcome: about 5 µs each, a fifth of what
  /// scan() takes. Damage as for scan(), but that of a Record's other members is not seen.
  virtual size_t visit_outcomes(const Query& query, const OutcomeVisitor& visit) const = 0;
  /// Counts the matching entries, whatever the limit, without reading what they say: about 1 µs an entry.
  virtual EntryCounts count(const Query& query) const = 0;
  /// Whether the journal's path still names its file.
  virtual bool is_in_place() const noexcept = 0;
  /// Visits the headings of the matching entries in append order, or in the reverse: about 2 µs each. An entry of
  /// schema 1 matches by problem, device and kind alone. Throws for a damaged page.
  virtual void visit_headings(const Query& query, const std::function<void(const EntryHeading&)>& visit) const = 0;
  /// Returns the newest decision with exactly this problem, fingerprint, protocol and versions.
  virtual std::optional<Decision> decision(const Problem& problem, const std::string& fingerprint,
                                           const Versions& versions, const Protocol& protocol) const = 0;
  /// Drops data that newer entries make useless (samples of superseded records, Started entries followed by a Record)
  /// and frees the space.
  virtual void compact() = 0;
};

/// Asked ten times a second while a connection of the process waits for a journal that another process has locked;
/// false: the wait ends with an error. `waited_s`: for this lock so far.
using JournalWait = bool (*)(double waited_s, const std::filesystem::path& journal);
/// Null, as at the start: waits last up to a minute. Thread-safe.
void set_journal_wait(JournalWait wait) noexcept;

std::unique_ptr<Journal> open_memory_journal();
/// Opens a SQLite file in WAL mode; a file of schema 1 is migrated to schema 2 in one transaction. A new file is
/// created with mode 0600 and its folder with 0700; a file of this user that others may read is changed to 0600. Throws
/// Error{database|io} with one sentence that names a remedy.
std::unique_ptr<Journal> open_sql_journal(const std::filesystem::path& file);
/// Opens a journal for readers (`journal show`, `explain`): never writes there. Where SQLite could read it only by
/// writing beside it, as on a read-only mount, a private copy is read. Throws not_found when the file does not exist.
std::unique_ptr<Journal> open_sql_journal_read_only(const std::filesystem::path& file);

}  // namespace attune
