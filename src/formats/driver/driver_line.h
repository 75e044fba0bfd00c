// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "attune/problem.h"
#include "formats/driver/driver_options.h"

namespace attune {

/// A parsed line.
struct DriverLine {
  enum class Kind : uint8_t { convolution, other_operator, bad };
  Kind kind = Kind::bad;
  std::string text;  ///< The name of another operator, or the defect.
  std::vector<Problem> problems;
};

/// The type of a convolution's operator: `bf16` of `convbfp16`; empty: no convolution.
std::string_view type_of_command(std::string_view command);

/// Parses a line that is not blank.
DriverLine parse_driver_line(std::string_view line, const DriverOptions& options);

}  // namespace attune
