// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "attune/problem.h"

/// MIOpen's perf-db: the parameters of solvers by convolution, as SQLite (`.db`) and as text (`.db.txt`)
/// (docs/formats/perf_db.md).
namespace attune {

/// The numbers of a config, in the order of the table's columns.
inline constexpr std::array<std::string_view, 21> kPerfDbNumbers = {
    "spatial_dim",   "in_channels",   "in_h",       "in_w",       "in_d",       "fil_h", "fil_w",
    "fil_d",         "out_channels",  "batchsize",  "pad_h",      "pad_w",      "pad_d", "conv_stride_h",
    "conv_stride_w", "conv_stride_d", "dilation_h", "dilation_w", "dilation_d", "bias",  "group_count"};

/// A convolution. As in keys of the find-db, `in` is the output of gradients: a config of B or W states the output's
/// extents, so that its input follows only for strides of 1.
struct PerfDbConfig {
  int64_t id = 0;
  std::string layout, data_type, direction;
  std::array<int64_t, kPerfDbNumbers.size()> numbers{};
  size_t line = 0;  ///< Of the text that it was read from; 0: of a database.
};

/// The parameters of one solver, which only it can read: `32,1,16`, or a name with blanks, commas and brackets.
struct PerfDbRow {
  int64_t id = 0;
  std::string solver;
  int64_t config = 0;  ///< An id; an orphan names a config that is missing.
  std::string params;
  size_t line = 0;  ///< As of a config.
};

struct PerfDb {
  std::vector<std::string> schema;  ///< The statements of its tables and indexes.
  std::vector<PerfDbConfig> configs;
  std::vector<PerfDbRow> rows;

  /// The tables that MIOpen makes.
  static const std::vector<std::string>& own_schema();
  /// Rows whose config is not there.
  std::vector<const PerfDbRow*> orphans() const;
  size_t num_configs_without_rows() const;
};

/// What MIOpen cannot read of a config, after a word such as "its": `direction must be F, B or W, got 'Q'`. Empty:
/// nothing.
std::string defect_of(const PerfDbConfig& config);

/// Numbers configs in the byte order of their keys, and rows by config and solver. Orphans come last.
void sort_perf_db(PerfDb& db);

/// Whether a file is a perf-db: text whose first key is one, or SQLite with its tables. False for a file that cannot be
/// read.
bool is_perf_db_text(const std::filesystem::path& path);
bool is_perf_db_sqlite(const std::filesystem::path& path);

/// Reads a database. Throws invalid_input for a file that is no perf-db (ForeignDatabase), other columns, and a value
/// of another type. Orphans are kept.
PerfDb read_perf_db(const std::filesystem::path& path);
/// Reads a text of at most 1 GiB. Throws invalid_input `a.db.txt:17: …`. The result has own_schema(), and ids in the
/// order of the lines.
PerfDb read_perf_db_text(const std::filesystem::path& path);
PerfDb parse_perf_db_text(std::string_view content, const std::string& name);
/// A defect of a text that can be read.
struct PerfDbDefect {
  size_t line = 0;
  std::string key;
  std::string what;
  bool is_repeated = false;  ///< The key of an earlier line, or a solver that stands twice in one.
};
/// Reads a text without its wrong lines and repeated solvers, which are added to `defects`. Throws invalid_input for
/// what parse_text_db() refuses.
PerfDb read_perf_db_text_with_defects(const std::filesystem::path& path, std::vector<PerfDbDefect>& defects);

/// The bytes of a SQLite file with the same `.dump` as the one that was read. Throws invalid_input for repeated rows.
std::string perf_db_bytes(const PerfDb& db);
/// The text form: a line for each config that has rows, in the order of their first rows. Throws invalid_input for an
/// orphan, a config with a defect, and a value that has one of the text's separators.
std::string perf_db_text(const PerfDb& db);

/// The config of a problem; its id is 0. Throws like miopen_conv_of().
PerfDbConfig perf_db_config_of(const Problem& problem);
/// The text form's key: `2x64x56x…xNCHWxFP32xF`.
std::string perf_db_key(const PerfDbConfig& config);

}  // namespace attune
