// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <span>
#include <string>

#include "campaign/tune_options.h"
#include "ops/family.h"

namespace attune {

/// Returns the options of `attune tune` for a family's list of shapes and its table in a configuration folder, with
/// further arguments. Throws invalid_input for arguments that the command refuses, for a flag that the family lacks,
/// and for one that names other shapes or results.
TuneOptions tune_arguments(const FamilySpec& family, const std::filesystem::path& shapes,
                           const std::filesystem::path& config_dir, std::span<const std::string> arguments);

}  // namespace attune
