// SPDX-License-Identifier: MIT
#include "store/sql_schema.h"

#include <array>

#include "store/entry_json.h"

namespace attune {
namespace {

constexpr std::array<std::string_view, 2> kMigrations = {
    // `kind` is the index of the entry's type in the variant. The other columns repeat texts of the payload, for the
    // indexes.
    "CREATE TABLE entries ("
    " id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, problem TEXT NOT NULL, device TEXT NOT NULL,"
    " protocol TEXT NOT NULL, payload TEXT NOT NULL);"
    "CREATE INDEX entries_by_problem ON entries (problem, device, kind);"
    "CREATE INDEX decisions_by_problem ON entries (problem, device, protocol) WHERE kind = 2;",
    // Adds time, place and run. AUTOINCREMENT, so that an id remembered by a reader never names another entry. Entries
    // of schema 1 get unknown time and place (0 and ''), so they are not reused.
    "CREATE TABLE placed_entries ("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, at_ms INTEGER NOT NULL, run INTEGER NOT NULL, kind INTEGER NOT NULL,"
    " problem TEXT NOT NULL, device TEXT NOT NULL, fingerprint TEXT NOT NULL, measured TEXT NOT NULL,"
    " searched TEXT NOT NULL, solver TEXT NOT NULL, candidate TEXT NOT NULL, stage TEXT NOT NULL,"
    " status TEXT NOT NULL, payload TEXT NOT NULL);"
    "INSERT INTO placed_entries SELECT id, 0, 0, kind, problem, device, '', '', '', '', '', '', '', payload"
    " FROM entries ORDER BY id;"
    "DROP TABLE entries;"
    "ALTER TABLE placed_entries RENAME TO entries;"
    "CREATE INDEX entries_by_problem ON entries (problem, device, kind);"
    "CREATE INDEX decisions_by_problem ON entries (problem, fingerprint, measured, searched) WHERE kind = 2;"
    "CREATE INDEX decisions_by_place ON entries (fingerprint, id) WHERE kind = 2;",
};
static_assert(kMigrations.size() == kSchemaVersion);
static_assert(std::is_same_v<std::variant_alternative_t<2, Entry>, Decision>);
static_assert(std::is_same_v<std::variant_alternative_t<4, Entry>, RunBegin>);

}  // namespace

std::span<const std::string_view> schema_migrations() { return kMigrations; }

SqlRow::SqlRow(const Entry& entry)
    : kind(static_cast<int>(entry.index())), heading(heading_of(entry, {})), payload(entry_to_json(entry)) {
  const auto* record = std::get_if<Record>(&entry);
  const auto* decision = std::get_if<Decision>(&entry);
  if (record == nullptr && decision == nullptr) return;
  const Protocol& protocol = record != nullptr ? record->protocol : decision->protocol;
  measured = protocol.measured_key();
  searched = protocol.searched_key();
}

}  // namespace attune
