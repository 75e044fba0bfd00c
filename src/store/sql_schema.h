// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "store/heading.h"
#include "store/journal.h"

namespace attune {

/// SQL statements, each followed by a semicolon, that migrate the schema from version i (the index) to the next.
/// Released ones never change. docs/formats/journal.md describes the tables.
std::span<const std::string_view> schema_migrations();
inline constexpr int kSchemaVersion = 2;

/// The table of schema 1 with the columns of schema 2, for readers, which never change a file.
inline constexpr std::string_view kSchema1Entries =
    "(SELECT id, 0 AS at_ms, 0 AS run, kind, problem, device, '' AS fingerprint, '' AS measured, '' AS searched,"
    " '' AS solver, '' AS candidate, '' AS stage, '' AS status, payload FROM entries)";

/// The cells of an entry's row, except its id, which SQLite assigns, and its time and run, which the writer sets.
struct SqlRow {
  explicit SqlRow(const Entry& entry);

  long long at_ms = 0, run = 0;
  int kind = 0;
  EntryHeading heading;
  std::string measured, searched;  ///< Keys of the entry's Protocol; empty without one.
  std::string payload;
};

}  // namespace attune
