// SPDX-License-Identifier: MIT
#pragma once
#include <sched.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attune {

/// Reads a thread's affinity mask, as ::sched_getaffinity() does.
using ReadAffinity = int (*)(pid_t thread, size_t bytes, cpu_set_t* mask);

/// Logical processors that a thread may use (its affinity mask), ascending; empty when the kernel does not report them.
/// A cpu_set_t ends at 1,024 processors, and the kernel refuses it on a larger machine; these functions do not use its
/// size. `thread`: its kernel id; 0: the calling one. `read` stands for the kernel, for tests.
std::vector<int> cores_of_thread(pid_t thread, ReadAffinity read = ::sched_getaffinity);
/// Binds a thread to these processors; returns false, with errno, when the kernel refuses it.
bool bind_thread(pid_t thread, std::span<const int> cores) noexcept;
/// Those of the calling thread.
std::vector<int> allowed_cores();

/// Logical processors that this process may use, ascending: the affinity mask of the calling thread, and the places of
/// the OpenMP runtimes in this process. With OMP_PROC_BIND, OMP_PLACES, GOMP_CPU_AFFINITY or KMP_AFFINITY set, such a
/// runtime binds threads of the application to one processor each, and their masks no longer tell what the process may
/// use. Empty when the kernel does not report a mask. Takes about 20 µs, with those variables 100 µs.
std::vector<int> process_cores();

/// The name by which this machine knows itself; empty when the kernel does not tell it.
std::string host_name();

/// A line of /proc/meminfo (`MemTotal`, `MemAvailable`) in bytes; empty when it is missing. `root` stands for `/`, for
/// tests.
std::optional<int64_t> meminfo_bytes(std::string_view name, const std::filesystem::path& root = "/");

}  // namespace attune
