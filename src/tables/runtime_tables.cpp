// SPDX-License-Identifier: MIT
#include "tables/runtime_tables.h"

#include "base/error.h"
#include "base/text.h"
#include "dispatch/table/find_db_table.h"
#include "formats/find_db/find_db.h"
#include "ops/family.h"

namespace attune {

RuntimeTables read_runtime_tables(const FamilySpec& family, const DeviceInfo* device) {
  return read_runtime_tables(family, table_sources(family, device), device);
}

RuntimeTables read_runtime_tables(const FamilySpec& family, TableSources sources, const DeviceInfo* device) {
  RuntimeTables tables{&family, std::move(sources), {}, {}, {}};
  std::vector<CsvDocument> documents;
  for (const TableSource& source : tables.sources.files) {
    tables.wrong.emplace_back();
    tables.documents.push_back(documents.size());
    if (!source.why_skipped.empty()) {
      tables.wrong.back() = source.why_skipped;
      continue;
    }
    try {
      const bool is_find = source.origin == Origin::variable && is_find_db(source.file);
      std::vector<CsvDocument> one = {is_find ? find_db_document(source.file, device) : CsvDocument::read(source.file)};
      Table::of(one, &family, WrongRows::skipped);
      documents.push_back(std::move(one.front()));
    } catch (const Error& error) {
      tables.wrong.back() = error.what();
    }
  }
  if (!documents.empty()) tables.table = Table::of(std::move(documents), &family, WrongRows::skipped);
  return tables;
}

std::string skipped_rows(const Table::SkippedRows& rows) {
  return fmt::format("{} skipped, the first: {}", counted(rows.count, "row"), rows.why_first);
}

std::vector<std::string> skipped_notices(const RuntimeTables& tables) {
  std::vector<std::string> notices = tables.sources.notices;
  for (size_t i = 0; i < tables.wrong.size(); ++i) {
    if (tables.wrong[i].empty()) continue;
    const bool is_sentence = !tables.sources.files[i].why_skipped.empty();
    notices.push_back(is_sentence ? tables.wrong[i] : "a table is skipped: " + tables.wrong[i]);
  }
  if (!tables.table) return notices;
  for (const Table::SkippedRows& one : tables.table->skipped()) {
    if (one.count > 0) notices.push_back(skipped_rows(one));
  }
  return notices;
}

std::vector<const FamilySpec*> wanted_families(const std::string& op) {
  if (const FamilySpec* family = family_option(op)) return {family};
  std::vector<const FamilySpec*> all;
  for (const FamilySpec& family : families()) all.push_back(&family);
  return all;
}

}  // namespace attune
