// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "formats/csv/table.h"

namespace attune {

/// Whether a file of results is YAML, by the end of its name.
bool is_yaml(const std::string& file);

/// The results of a YAML file as a table of gemm_a16w16: keys that a table has no column for become columns. Throws as
/// read_tune_gemm().
Table read_yaml_results(const std::string& file);

}  // namespace attune
