// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string>

#include "attune/problem.h"
#include "core/device_info.h"

namespace attune {

/// Normalises a problem typed by a person; the error names it.
Problem parse_problem(const std::string& text, const DeviceInfo& device);

/// Reports on standard error that a journal's scan skipped damaged entries.
void note_damaged(size_t num_damaged, const std::filesystem::path& journal);

}  // namespace attune
