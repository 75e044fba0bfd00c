// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "formats/miopen_shapes.h"

/// Results of `fin`, the program that MITuna runs for each job, as JSON (docs/formats/fin.md).
namespace attune {

/// Whether a file's first character that is not blank begins a list. False for a file that cannot be read, and for a
/// pipe.
bool is_fin_results(const std::filesystem::path& path);

/// The problems of the jobs, by their keys of the find-db. `with_results`: also what the solvers of evaluation steps
/// measured; solvers without a time are counted. Throws invalid_input `out.json:57: …` for a file above 256 MiB, text
/// that is no JSON, a list without jobs, a malformed key, and a file without any problem.
MiopenShapes read_fin_results(const std::filesystem::path& path, bool with_results = false);
/// The same for text in memory; `name` is used in messages.
MiopenShapes parse_fin_results(std::string_view content, const std::string& name, bool with_results = false);

}  // namespace attune
