// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/problem.h"
#include "attune/requirement.h"
#include "formats/csv/csv_document.h"
#include "ops/family.h"

namespace attune {

/// A winner to be written into a table.
struct PublishedRow {
  Problem problem;  ///< Normalised.
  std::string gfx;
  int64_t num_units = 0;
  std::string model;  ///< Column `device`.
  std::string layout = "plain";
  Requirement require = Requirement::none;  ///< What the kernel was verified to keep.
  std::string kernel_name;                  ///< Candidate::name().
  std::string libtype;                      ///< First part of the solver's id.
  int64_t algorithm = -1;                   ///< The vendor's number for `solidx` or `kernelId`, or -1.
  int64_t split_k = 1;                      ///< The factor itself.
  double us = 0;                            ///< > 0.
  double err_ratio = 0;                     ///< Fraction.
  double tflops = 0, bw = 0;                ///< bw in GB/s.
};

/// Columns of a new tuned table: gfx, cu_num, the key, the results. `device` and `layout` are added at the end of every
/// table, `require` at the end of one that needs it.
std::vector<std::string> table_columns(const FamilySpec& family);
/// Text that Attune writes into a column for a row; nullopt for an unknown column.
std::optional<std::string> table_cell(const FamilySpec& family, const PublishedRow& row, std::string_view column);

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
