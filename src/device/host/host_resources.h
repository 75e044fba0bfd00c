// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

namespace attune {

/// Logical processors this process may use, ascending: its affinity mask, cut to the whole processors a cgroup's CPU
/// quota pays for (at least one).
std::vector<int> usable_cores();

// `root` stands for `/`, for tests.

/// Processors' worth of time the cgroup of this process and its parents allow (v1 and v2); infinite without a quota.
double cgroup_cores(const std::filesystem::path& root = "/");
/// Memory of the machine, or of the cgroup where that is less.
int64_t memory_bytes(const std::filesystem::path& root = "/");
/// Memory that could be had now without swapping (MemAvailable); the largest number when unknown.
uint64_t available_memory_bytes(const std::filesystem::path& root = "/");
/// Bytes of data caches by level, as one processor sees them. A virtual machine may report the host's.
std::map<int, int64_t> cache_bytes(int core, const std::filesystem::path& root = "/");

}  // namespace attune
