// SPDX-License-Identifier: MIT
#include "tables/runtime_tables.h"

#include "base/error.h"
#include "base/line_output.h"
#include "base/text.h"
#include "dispatch/table/prediction.h"
#include "ops/family.h"

namespace attune {

RuntimeTables read_runtime_tables(const FamilySpec& family) {
  RuntimeTables tables{&family, table_sources(family), {}, {}, {}};
  std::vector<CsvDocument> documents;
  for (const TableSource& source : tables.sources.files) {
    tables.wrong.emplace_back();
    tables.documents.push_back(documents.size());
    try {
      std::vector<CsvDocument> one = {CsvDocument::read(source.file)};
      Table::of(one, &family, WrongRows::left_out);
      documents.push_back(std::move(one.front()));
    } catch (const Error& error) {
      tables.wrong.back() = error.what();
    }
  }
  if (!documents.empty()) tables.table = Table::of(std::move(documents), &family, WrongRows::left_out);
  return tables;
}

std::string left_out_rows(const Table::LeftOut& rows) {
  return fmt::format("{} left out, the first: {}", counted(rows.count, "row"), rows.why_first);
}

void print_left_out(const RuntimeTables& tables) {
  print_notes(tables.sources.notices);
  for (size_t i = 0; i < tables.wrong.size(); ++i) {
    if (tables.wrong[i].empty()) continue;
    const std::string& missing = tables.sources.files[i].why_missing;
    print_line(stderr, "note: " + (missing.empty() ? "a table is left out: " + tables.wrong[i] : missing));
  }
  if (!tables.table) return;
  for (const Table::LeftOut& one : tables.table->left_out()) {
    if (one.count > 0) print_line(stderr, "note: " + left_out_rows(one));
  }
}

std::vector<Table> tables_to_look_in(std::span<const std::string> named, const std::string& op,
                                     std::span<const FamilySpec* const> families) {
  std::vector<Table> tables;
  for (const std::string& paths : named) {
    tables.push_back(Table::read(paths, family_option(op)));
    print_notes(tables.back().notices());
  }
  if (!named.empty()) return tables;
  for (const FamilySpec* family : families) {
    RuntimeTables found = read_runtime_tables(*family);
    print_left_out(found);
    if (found.table) tables.push_back(std::move(*found.table));
  }
  return tables;
}

std::vector<const FamilySpec*> wanted_families(const std::string& op) {
  if (const FamilySpec* family = family_option(op)) return {family};
  std::vector<const FamilySpec*> all;
  for (const FamilySpec& family : families()) all.push_back(&family);
  return all;
}

double max_regret() {
  const MaxRegret wanted = max_regret_wanted();
  if (!wanted.complaint.empty()) print_line(stderr, "note: " + wanted.complaint);
  return wanted.share;
}

}  // namespace attune
