// SPDX-License-Identifier: MIT
#pragma once
#include <compare>
#include <cstddef>
#include <string_view>

#include "attune/requirement.h"

/// The rule by which a device takes one of several rows with the same key and layout.
namespace attune {

/// Returns whether a row that names `row_model` may serve a device of `device_model`; an empty name stands for any
/// model.
inline bool is_of_model(std::string_view row_model, std::string_view device_model) noexcept {
  return row_model.empty() || device_model.empty() || row_model == device_model;
}

/// Rank of a row among those with its key: the lowest wins, of equal ones the row that stands first. Where nothing is
/// required, a row that states a requirement serves only if no other does: it was chosen under a condition that costs
/// speed. Then an earlier file wins whatever its time; inside a file, the lower time wins. Requires: the row meets what
/// is required, has a usable time and no `_tag`.
struct RowRank {
  /// `stated`: the requirement that the row states; `required`: that of the reader.
  RowRank(size_t file_index, double time_us, Requirement stated = Requirement::none,
          Requirement required = Requirement::none) noexcept
      : is_spare(required == Requirement::none && stated != Requirement::none),
        file(file_index),
        us(static_cast<float>(time_us)) {}

  bool is_spare;
  size_t file;  ///< Index of the file in the order of the tables.
  float us;     ///< As precise as the run time keeps it: times that differ by less are equal.
  auto operator<=>(const RowRank&) const = default;
};

}  // namespace attune
