// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "attune/problem.h"
#include "core/device_info.h"
#include "dispatch/capture/captured_shapes.h"

namespace attune {

/// Folders and files of captured shapes that a verb reads: those that are named, else the user's own folder. Throws
/// invalid_input for one that is named and not there.
std::vector<std::filesystem::path> capture_sources(std::span<const std::string> named);
/// What they hold; `op` as in read_captures(). Nothing was captured yet when the user's own folder is not there.
std::vector<CapturedShapes> captured_shapes(std::span<const std::string> named, const std::string& op);
/// `'a', 'b'`
std::string list_of(std::span<const std::filesystem::path> sources);

/// As tables spell it; a family that cannot be tuned yet is looked up as it was captured.
Problem as_looked_up(const Problem& problem, const DeviceInfo& device);

}  // namespace attune
