// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace attune {

/// Logical processors that the calling thread may use (its affinity mask), ascending; empty when the kernel does not
/// report them.
std::vector<int> allowed_cores();

/// A line of /proc/meminfo (`MemTotal`, `MemAvailable`) in bytes; empty when it is missing. `root` stands for `/`, for
/// tests.
std::optional<int64_t> meminfo_bytes(std::string_view name, const std::filesystem::path& root = "/");

}  // namespace attune
