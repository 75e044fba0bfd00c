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
  std::vector<std::string> notices;  ///< What the program must say about the choice.
};

/// Which family a file is: `op` if given; else the longest stem in the file's name whose key columns the file has; else
/// the columns, if only one family fits; bare M,N,K without times is gemm_a16w16, with a notice.
/// Throws invalid_input: an unknown op, a family the columns do not serve, none, or several.
FamilyOfFile family_of_file(const CsvDocument& document, std::string_view op = {});

/// The family whose stem is in a file's name, without a look into the file: for files that do not exist yet. Null when
/// no stem is, or two of the same length are.
const FamilySpec* family_of_name(std::string_view file_name);

}  // namespace attune
