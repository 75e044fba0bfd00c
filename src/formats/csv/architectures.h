// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace attune {

/// Returns the different values of a CSV's `gfx` column, sorted, without empty ones. None for a file without that
/// column, for one that cannot be read, which whoever reads its rows reports, and for a pipe, which can be read only
/// once.
std::vector<std::string> architectures_in(const std::filesystem::path& csv);

}  // namespace attune
