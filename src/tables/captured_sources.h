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

/// Returns the folders and files of captured shapes that a command reads: the named ones, else the user's folder.
/// Throws invalid_input for a named one that does not exist.
std::vector<std::filesystem::path> capture_sources(std::span<const std::string> named);
/// Reads the captured shapes; `op` selects a family as in read_captures(). If the user's folder does not exist, nothing
/// was captured yet.
std::vector<CapturedShapes> captured_shapes(std::span<const std::string> named, const std::string& op);
/// Removes shapes that were called under another thread limit than the device has units; appends a sentence that counts
/// them to `notices`.
void keep_shapes_of(const DeviceInfo& device, std::vector<CapturedShapes>& captured, std::vector<std::string>& notices);
/// Formats the sources as `'a', 'b'`.
std::string list_of(std::span<const std::filesystem::path> sources);

/// Normalises a problem as tables spell it; a family that cannot be tuned yet keeps the captured spelling.
Problem as_looked_up(const Problem& problem, const DeviceInfo& device);

}  // namespace attune
