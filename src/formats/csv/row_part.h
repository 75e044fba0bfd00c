// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>

namespace attune {

/// One of the kernels that together serve a row of a family with FamilySpec::parts.
struct RowPart {
  std::string kernel_name;
  std::optional<double> us;  ///< nullopt for an unusable time.
  std::optional<double> err_ratio;
  bool operator==(const RowPart&) const = default;
};

}  // namespace attune
