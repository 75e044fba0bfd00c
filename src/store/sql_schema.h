// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "store/journal.h"

namespace attune {

/// Statements, with a semicolon after each, that bring the schema from their index to the next version; what was
/// released is never changed. docs/formats/journal.md describes what they make.
std::span<const std::string_view> schema_migrations();
inline constexpr int kSchemaVersion = 2;

/// The table of a file of schema 1 in the columns of schema 2, for readers, who never change a file.
inline constexpr std::string_view kSchema1Entries =
    "(SELECT id, 0 AS at_ms, 0 AS run, kind, problem, device, '' AS fingerprint, '' AS measured, '' AS searched,"
    " '' AS solver, '' AS candidate, '' AS stage, '' AS status, payload FROM entries)";

/// The cells of an entry's row, but for its id, which is SQLite's, and time and run, which are the writer's.
struct SqlRow {
  explicit SqlRow(const Entry& entry);

  long long at_ms = 0, run = 0;
  int kind = 0;
  std::string problem, device, fingerprint, measured, searched, solver, candidate, stage, status, payload;

 private:
  void take(const Started& started);
  void take(const Record& record);
  void take(const Decision& decision);
  void take(const Pardoned& pardoned);
  void take(const RunBegin& begin);
  void take(const RunEnd& end);
  template <typename Tried>
  void take_tried(const Tried& tried);
  void take_candidate(const Candidate& tried);
  void take_protocol(const Protocol& protocol);
};

}  // namespace attune
