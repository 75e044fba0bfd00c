// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "formats/csv/csv_document.h"
#include "ops/family.h"

namespace attune {

struct FamilyOfFile {
  const FamilySpec* family = nullptr;
  std::vector<std::string> notices;  ///< Remarks on the choice that the program must report.
};

/// Finds the family of a file: `op` if given; else the family with the longest stem in the file's name among those
/// whose key columns the file has; else by the columns, if only one family fits; bare M,N,K without times is
/// gemm_a16w16, with a notice. Throws invalid_input for an unknown op, if the file lacks columns of the family, or if
/// no family or several fit.
FamilyOfFile family_of_file(const CsvDocument& document, std::string_view op = {});

/// Returns a family whose columns fit a file better than those of `family`: each column before the results is one of
/// its key, and it knows more of the columns. Null if there is none. Throws invalid_input if the file lacks columns of
/// the key and no family fits better.
const FamilySpec* better_family(const FamilySpec& family, const CsvDocument& document);

/// Whether a table with these columns lists shapes: at least two of them are columns of one family's key.
bool is_shape_table(const CsvDocument& document);

/// Finds the family by its stem in a file's name, without reading the file, which need not exist yet. Null if no stem
/// matches, or two of the same length.
const FamilySpec* family_of_name(std::string_view file_name);

}  // namespace attune
