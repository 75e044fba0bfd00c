// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/key.h"

namespace attune {

/// Type of a table column; it determines how values are written and read.
enum class ColumnKind { integer, flag, dtype, text };

/// A key column of a table and the corresponding attribute of the problem.
struct KeyColumn {
  std::string_view column;     ///< `M`; case-insensitive when reading.
  std::string_view attribute;  ///< `m`
  ColumnKind kind = ColumnKind::integer;
  std::string_view default_value;  ///< Value when the column is missing (as in a Problem: `0`, `bf16`); empty: the
                                   ///< column is required.
  bool optional = false;           ///< Attune adds the column to a table only when a row has a non-default value.
};

/// An operator family: its tables, names and defaults, as data. Formats of the columns: docs/formats/tables.md.
struct FamilySpec {
  OpId number = OpId::first_registered;   ///< Permanent.
  std::string_view op;                    ///< `gemm_a16w16`
  std::string_view title;                 ///< One line for `attune list ops`.
  std::string_view default_file;          ///< `bf16_tuned_gemm.csv`; the untuned one has `untuned` for `tuned`.
  std::string_view stem;                  ///< The default file's name without tuned and gemm: `bf16`, `bf16 batched`.
  std::string_view variable;              ///< `GEMM_BF16`: ATTUNE_CONFIG_GEMM_BF16 and AITER_CONFIG_GEMM_BF16.
  std::vector<KeyColumn> key;             ///< Without gfx and cu_num, which every family has first.
  std::vector<std::string_view> results;  ///< Result columns in order, after the key.
  std::vector<std::string_view>
      baselines;               ///< Solver ids: the first that is available and supports the problem is the baseline.
  std::string_view rows = {};  ///< Key attribute that a served model varies: `m`; empty: none. Rows that differ in it
                               ///< alone serve each other's problems (docs/run_time.md).
  std::string_view columns = {};  ///< Key attribute of the output's columns, for the coarse padding: `n`.
  std::string_view packed =
      {};                  ///< Key flag of weights that are packed ahead, once for all `rows`; empty: see is_packed.
  bool is_packed = false;  ///< The weights are always packed ahead.
  bool pads_rows = false;  ///< The row of the padded `rows` serves a problem without a row.
  bool tunable = false;    ///< This build has an Op of this name.
};

/// All known families of files, tunable or not: those of the ops of this build, those whose tables are only read, and
/// those of registered ops, in the order of their numbers. Fixed at the first call.
std::span<const FamilySpec> families();
/// Null for an unknown op. Accepts the prefix `ck_` of older job names.
const FamilySpec* find_family(std::string_view op);
/// The family of an option such as `--op`; null when the text is empty. Throws invalid_input for an unknown one.
const FamilySpec* family_option(std::string_view op);

}  // namespace attune
