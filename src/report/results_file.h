// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "formats/csv/table.h"

namespace attune {

/// Reads a YAML results file as a table of gemm_a16w16; keys without a column in the table become columns. Throws like
/// read_tune_gemm_results().
TableStream read_yaml_results(const std::string& file);

}  // namespace attune
