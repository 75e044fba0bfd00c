// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "attune/problem.h"
#include "formats/miopen_conv.h"

namespace attune {

/// A key of MIOpen's find-db (docs/formats/find_db.md):
/// `C-H-W-YxX-K-OH-OW-N-pads-strides-dilations-bias-LAYOUT-TYPE-DIR`,
/// `_gN` with N groups, `_cuN` for N compute units. Keys of B and W state the output first; `conv` holds them in the
/// driver's view.
struct FindDbKey {
  MiopenConv conv;
  Extents stated_output{1, 1, 1};  ///< Of the forward pass.
  std::string casts;               ///< `_ciFP8_cwFP8` …; empty: none.
  int64_t num_units = 0;           ///< `_cu36`, of merged files: the compute units that measured it; 0: the file's.

  /// Throws invalid_input with the group that is wrong, without the file's name.
  static FindDbKey parse(std::string_view text);
  std::string text() const;
};

/// Why a key names no problem of `conv`; empty: it does. Such keys are kept in files, and are never tuned. The reason
/// is one of why_no_problem(), casts, stated compute units, or an output that the input does not give: MIOpen writes 1
/// where the filter is larger than the input, and ⌈input / stride⌉ for the padding `same`.
std::string why_untunable(const FindDbKey& key);

/// The problem of a key; nothing if it names none. Throws like FindDbKey::parse().
std::optional<Problem> problem_of_find_db_key(std::string_view text);
/// Throws like miopen_conv_of().
std::string find_db_key_of(const Problem& problem);

}  // namespace attune
