// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

namespace attune {

/// Logical processors this process may use, ascending: process_cores(), reduced to the whole number of processors in a
/// cgroup's CPU quota (at least one).
std::vector<int> usable_cores();

// `root` stands for `/`, for tests.

/// CPU quota of this process's cgroup and its parents (v1 and v2), in processors; infinite without a quota.
double cgroup_cores(const std::filesystem::path& root = "/");
/// Memory of the machine, or the cgroup's limit if that is lower.
int64_t memory_bytes(const std::filesystem::path& root = "/");
/// Memory that this process can get now without swapping: MemAvailable, or what the cgroup's or the process's limit
/// (`ulimit -v`) leaves, if that is less. The largest number if nothing is known.
uint64_t available_memory_bytes(const std::filesystem::path& root = "/");
/// Sizes of data caches in bytes by level, as one processor reports them. A virtual machine may report the host's.
std::map<int, int64_t> cache_bytes(int core, const std::filesystem::path& root = "/");

}  // namespace attune
