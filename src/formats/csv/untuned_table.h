// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <span>
#include <string>

#include "attune/problem.h"
#include "ops/family.h"

namespace attune {

/// File name of the family's list of shapes in a configuration folder: `bf16_untuned_gemm.csv`.
std::string untuned_file_name(const FamilySpec& family);

/// A list of shapes as read_shapes() and the older tuners accept it: the family's key columns; optional ones only if
/// some problem differs from their default.
std::string untuned_text(const FamilySpec& family, std::span<const Problem> problems);

/// Throws invalid_input if the file is not a list of shapes of the family and would be lost: a file with times, of
/// another family, or no table.
void check_untuned_output(const std::filesystem::path& path, const FamilySpec& family);

}  // namespace attune
