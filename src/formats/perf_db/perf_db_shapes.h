// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>

#include "formats/miopen_conv.h"
#include "formats/miopen_shapes.h"
#include "formats/perf_db/perf_db.h"

namespace attune {

/// The convolution of a config. Throws invalid_input, without the file's name, for one that is no problem of `conv`: a
/// defect, a number out of range, why_no_problem(), or a gradient whose strides leave its input open.
MiopenConv miopen_conv_of(const PerfDbConfig& config);

/// The problems of a perf-db's configs, SQLite or text. `with_results`: also its rows, which have parameters and no
/// time. Throws like read_perf_db() and read_perf_db_text(), and invalid_input for a file without any problem.
MiopenShapes read_perf_db_shapes(const std::filesystem::path& path, bool with_results = false);

}  // namespace attune
