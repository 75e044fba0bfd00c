// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string_view>

namespace attune {

/// Whether a text begins as a report does, in any of its forms.
bool begins_as_report(std::string_view text);

/// Like check_output(); also throws invalid_input for an existing file with other contents than a report's.
void check_report_output(const std::filesystem::path& file);

}  // namespace attune
