// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "attune/problem.h"
#include "formats/csv/csv_document.h"
#include "formats/csv/published_row.h"
#include "ops/family.h"

namespace attune {

struct PublishOptions {
  /// If true, a row is replaced only by one that is faster by min_improvement_pct. Default: false.
  bool update_improved = false;
  double min_improvement_pct = 3.0;
  /// If true, all rows are sorted by gfx, cu_num, then the key columns with N before M. Default: false.
  bool sort = false;
  double lock_wait_s = 60;
};

struct RetainedRow {
  Problem problem;
  double old_us = 0, new_us = 0;
  std::string reason;
};

struct PublishReport {
  std::filesystem::path path;
  size_t num_added = 0, num_replaced = 0;
  std::vector<RetainedRow> kept_back;
  std::vector<std::string> notices;
  bool written = false;  ///< False if there was nothing to change.
};

/// Throws invalid_input for a table that rows of the family would damage: a table without times, or of another family.
void check_publishable(const CsvDocument& document, const FamilySpec& family);

/// Writes rows into a tuned table, under its lock and atomically. The file is read again; a row of the same problem,
/// device and requirement is replaced in place (keeping its cells in columns that are not the family's), others are
/// appended in order; every other row stays byte for byte. Missing columns are added at the end; a new file starts with
/// gfx. Concurrent publishers lose no row. Throws invalid_input (an unreadable file, a problem that the family's
/// columns cannot hold), io, timeout; then nothing was written.
PublishReport publish(const std::filesystem::path& path, const FamilySpec& family, std::span<const PublishedRow> rows,
                      const PublishOptions& options = {});

}  // namespace attune
