// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/key.h"
#include "attune/problem.h"
#include "core/candidate.h"
#include "ops/extent.h"
#include "ops/model_layer.h"

namespace attune {

/// Type of a table column; it determines how values are written and read. choice: one of a fixed list of names, whose
/// places in the list are the numbers that keys hold.
enum class ColumnKind { integer, flag, dtype, text, choice };

/// One attribute of a family: a part of a problem's text, a command-line flag and a key column of the tables.
struct AttributeSpec {
  std::string_view name;    ///< In a problem's text: `m`.
  std::string_view column;  ///< In tables: `M`; case-insensitive when reading.
  ColumnKind kind = ColumnKind::integer;
  std::string_view default_value = {};  ///< As in a problem: `0`, `bf16`; empty: the attribute is required.
  /// An attribute that comes before, of the same kind, whose value this one has where nothing states it: a result has
  /// the type of its inputs. Empty, and where a problem lacks the other: `default_value`.
  std::string_view follows = {};
  bool always = true;     ///< If false, a problem's text contains it only when it is not at its default.
  bool optional = false;  ///< Attune adds the column to a table only when a row has a non-default value.
  /// Types that the op supports (empty: any type); names of a choice, in the order of their numbers.
  std::vector<std::string_view> allowed = {};
  std::string_view help = {};
  /// The default is the 8-bit float of the device (fp8_of()), and `default_value` where no device is known.
  bool is_device_fp8 = false;
  int64_t min = 1, max = kMaxExtent;  ///< Range of integers.
  bool contains(int64_t number) const noexcept { return number >= min && number <= max; }
  /// Whether a problem read from a table or a key states nothing for this value.
  bool omits(std::string_view value) const noexcept { return optional && !is_device_fp8 && value == default_value; }
};

/// The name of the 8-bit type in a problem that leaves its format to the device (DeviceInfo::fp8).
inline constexpr std::string_view kDeviceFp8 = "fp8";

/// The number of a choice: the place of the name, without regard to case. A name that is a whole number may be written
/// as a fraction (`1.0`), as tools with missing values do. Nothing for an unknown name.
std::optional<size_t> choice_number(std::span<const std::string_view> choices, std::string_view text);

/// Result columns of one of the kernels that together make a row.
struct PartColumns {
  std::string_view us;           ///< `us1`
  std::string_view kernel_name;  ///< `kernelName1`
  std::string_view err_ratio;    ///< `err1`
};

/// To which numbers of rows a problem without a row of its own is padded: finely, then coarsely.
struct PaddingLadder {
  struct Step {
    int64_t up_to = 0;     ///< Rows.
    int64_t multiple = 1;  ///< A power of two.
  };
  std::array<Step, 3> fine;   ///< In ascending order: to the next multiple.
  int64_t last_multiple = 1;  ///< Beyond the last step; a power of two.
  /// Coarsely: to the next power of two. Only a problem with more than `max_free_columns` has a limit: its larger
  /// numbers of rows are served by the row of `max_coarse_rows`.
  int64_t max_coarse_rows = 0, max_free_columns = 0;
};
/// As the older dispatchers pad the products (ROCm/aiter, gemm_common), so that their tables serve the same shapes.
inline constexpr PaddingLadder kProductPadding = {.fine = {{{256, 16}, {1024, 32}, {4096, 64}}},
                                                  .last_multiple = 128,
                                                  .max_coarse_rows = 8192,
                                                  .max_free_columns = 4096};

struct CountedWork;

/// The Debian package of a library, for the notice that no library serves a type.
struct LibraryPackage {
  std::string_view solver, device, type, package;  ///< `onednn.gemm`, `cpu`, `bf16`, `libdnnl-dev`.
};

/// An operator family: its tables, names and defaults, as data. Formats of the columns: docs/formats/tables.md.
struct FamilySpec {
  OpId number = OpId::first_registered;  ///< Permanent.
  std::string_view op;                   ///< `gemm_a16w16`
  std::string_view title;                ///< One line for `attune list ops`.
  std::string_view default_file;         ///< `bf16_tuned_gemm.csv`; the untuned one has `untuned` for `tuned`.
  std::string_view stem;                 ///< The default file's name without tuned and gemm: `bf16`, `bf16 batched`.
  std::string_view variable;             ///< `GEMM_BF16`: ATTUNE_CONFIG_GEMM_BF16 and AITER_CONFIG_GEMM_BF16.
  /// The attributes in the order of the tables' key columns, without gfx and cu_num, which every family has first.
  std::vector<AttributeSpec> key;
  /// Names of the attributes in the order of a problem's text; empty: the order of `key`.
  std::vector<std::string_view> text_order = {};
  std::vector<std::string_view> results;  ///< Result columns in order, after the key.
  std::vector<PartColumns> parts = {};    ///< Result columns of one kernel of several; `us` is of all.
  /// Solver ids of libraries: the first that is available and supports the problem is the baseline, and its default
  /// config the default that gains are given over.
  std::vector<std::string_view> baselines;
  /// Attune's own solver that computes where no library does. It then serves calls without a row and anchors a
  /// tuning's comparisons, but is no default: see gives_default().
  std::string_view fallback = {};
  std::vector<LibraryPackage> packages = {};  ///< Of the baselines that users may lack.
  /// Solver of what an application computes with if Attune passes its call on: where it is available, it is the
  /// baseline of a tuning, so that a tie passes calls on. Without a row the first of `baselines` computes all the same.
  std::string_view stock = {};
  std::string_view rows = {};  ///< Key attribute that a served model varies: `m`; empty: none. Rows that differ in it
                               ///< alone serve each other's problems (docs/lookups.md).
  std::string_view columns = {};  ///< Key attribute of the output's columns, for the coarse padding: `n`.
  /// Key attribute by which reports class problems: a size by its magnitude, a choice by its name. Empty: `rows`.
  std::string_view report_axis = {};
  std::string_view packed = {};  ///< Key flag of prepacked weights, packed once for all `rows`; empty: see is_packed.
  bool is_packed = false;        ///< The weights are always prepacked.
  bool pads_rows = false;        ///< The row of the padded `rows` serves a problem without a row: see `padding`.
  bool tunable = false;          ///< This build has an Op of this name.
  PaddingLadder padding = kProductPadding;
  /// The work of a row as the older tuners count it (ops/counted_work.h); null: there is no convention.
  CountedWork (*counted_work)(const Problem& problem) = nullptr;
  double max_err_ratio = 0.05;  ///< Share of wrong elements up to which the older tuners publish a kernel.
  /// The problem of a model's layer; nothing for a layer that the op does not compute. Null: it computes none.
  std::optional<Problem> (*of_layer)(const ModelLayer& layer) = nullptr;
  /// Attributes of small problems of every type, layout and remainder, as in a problem's text: the conformance suite
  /// tests a solver on the samples that it supports. An op of this build has some. Not owned.
  std::span<const std::string_view> samples = {};
};

/// Whether a solver's default config is a default, over which a gain may be claimed: a library's or the stock's is.
/// Attune's own kernels are not: to be faster than them says nothing.
bool gives_default(const FamilySpec& family, const Candidate& default_config) noexcept;

/// All known families of files, tunable or not: of this build's ops, of tables that are only read, and of registered
/// ops, in the order of their numbers. Fixed at the first call.
std::span<const FamilySpec> families();
/// Null for an unknown op. Accepts the prefix `ck_` of older job names.
const FamilySpec* find_family(std::string_view op);
/// The family of an option such as `--op`; null when the text is empty. Throws invalid_input for an unknown one.
const FamilySpec* family_option(std::string_view op);
/// The family of a file of another program, whose problems are all of `op`. Throws invalid_input if the option names
/// another family; `file`: names the kind of file, such as `a find-db`.
const FamilySpec& family_of_foreign_file(std::string_view op, std::string_view option, std::string_view file);
/// The family where neither a file nor a flag names one: the first by number.
const FamilySpec& default_family();
/// Null if the family's key has no such attribute.
const AttributeSpec* find_column(const FamilySpec& family, std::string_view attribute);
/// The value of a problem's rows, which its family names: M of a product, the tokens of fmoe. Nothing for a family
/// without rows.
std::optional<int64_t> rows_of(const Problem& problem);

}  // namespace attune
