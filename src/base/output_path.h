// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>

namespace attune {

/// Throws invalid_input unless a file can be written there. A wrong path is the user's error; a disk that fills up
/// later is not.
void check_output(const std::filesystem::path& path);

/// Throws invalid_input unless a folder is there or can be made.
void check_output_folder(const std::filesystem::path& path);

}  // namespace attune
