// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <span>
#include <string>

#include "attune/problem.h"
#include "ops/family.h"

namespace attune {

/// Name of the family's list of shapes in a configuration folder: `bf16_untuned_gemm.csv`.
std::string untuned_file_name(const FamilySpec& family);

/// A list of shapes as read_shapes() and the older tuners take it: the family's key columns, those that are optional
/// only when a problem is not at their default.
std::string untuned_text(const FamilySpec& family, std::span<const Problem> problems);

/// Throws invalid_input when something else than a list of shapes of the family would be lost: a file with times, of
/// another family, or no table.
void check_untuned_output(const std::filesystem::path& path, const FamilySpec& family);

}  // namespace attune
