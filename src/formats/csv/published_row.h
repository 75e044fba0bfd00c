// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "attune/problem.h"
#include "attune/requirement.h"
#include "core/candidate.h"
#include "core/device_info.h"
#include "core/record.h"
#include "formats/csv/row_part.h"

namespace attune {

/// A winner to be written into a table. Its columns: table_columns.h.
struct PublishedRow {
  Problem problem;  ///< Normalised.
  std::string gfx;
  int64_t num_units = 0;
  std::string model;  ///< Column `device`.
  std::string layout = kPlainLayout;
  Requirement require = Requirement::none;  ///< Requirement for which the kernel was verified.
  std::string kernel_name;                  ///< Candidate::name().
  std::string libtype;                      ///< First part of the solver's id.
  /// Place in the solver's list as it was loaded, for `solidx` or `kernelId`; -1: none is known.
  int64_t algorithm = -1;
  int64_t split_k = 1;              ///< The factor itself.
  double us = 0;                    ///< > 0.
  double err_ratio = 0;             ///< Fraction.
  double tflops = 0, bw = 0;        ///< 10^12 operations of Work::arithmetic a second; GB/s.
  std::vector<RowPart> parts = {};  ///< In the order of FamilySpec::parts; those that it lacks have empty cells.
};

/// Makes a candidate's row of its family's table, with the rates for its time (0 µs: none).
PublishedRow published_row(const Problem& problem, const Candidate& candidate, double us, double err_ratio);
/// Makes the row of a Decision's winner on the device that it was decided for.
PublishedRow published_row(const Decision& decision, const DeviceInfo& device);

}  // namespace attune
