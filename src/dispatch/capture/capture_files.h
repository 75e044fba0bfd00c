// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/gemm.h"
#include "attune/problem.h"
#include "dispatch/table/key_codes.h"

namespace attune {

/// Maximum wait for the lock of a shape list, in seconds. It is short because the application may be ending; the caller
/// tries again.
inline constexpr double kShapesLockWaitS = 10;

/// A shape, the thread limit under which it was called, and how often.
struct CalledShape {
  Problem problem;
  uint64_t calls = 0;
  int64_t threads = 0;  ///< 0: unknown, or the device is no host.
};

/// Returns each problem as read_shapes() would read it from a shape list. Nothing stands for a problem that
/// read_shapes() would refuse, together with the whole file: a size of 0, a type that the op does not take.
std::vector<std::optional<Problem>> as_read(const FamilySpec& family, std::span<const Problem> problems);

/// Appends the shapes that a list lacks, in their order; returns their number. Holds the file's lock (waits up to
/// `lock_wait_s`) and replaces the file as a whole (mode 0600 if new), so that neither a reader nor a killed process
/// nor a full disk leaves a partial line. An existing file keeps its header, order and lines; missing columns are added
/// after the last one. An unterminated last line is terminated if it can be read, and removed if not. Throws io and
/// timeout; invalid_input for a file that is no shape list of the family, which stays unchanged.
size_t add_shapes(const std::filesystem::path& file, const FamilySpec& family, std::span<const Problem> problems,
                  double lock_wait_s = kShapesLockWaitS);

/// Writes a shape list with a column `calls`, and `threads` if a limit is known; replaces the file as a whole (mode
/// 0600 if new). Throws io.
void write_counts(const std::filesystem::path& file, const FamilySpec& family, std::span<const CalledShape> shapes);
inline constexpr std::string_view kCallsColumn = "calls", kThreadsColumn = "threads";

/// Path of the counts of a captured file: `counts/<file>.<process>` beside it.
std::filesystem::path counts_file(const std::filesystem::path& captured, std::string_view process);
/// Returns all existing counts files, sorted by name: `<file>.counts` (written by a merge) and `counts/<file>.*`.
std::vector<std::filesystem::path> counts_files(const std::filesystem::path& captured);

/// Removes captured files and counts from a folder, and nothing else; lock files stay, because removing them would
/// race. Returns the number of removed files. A running capture still adds its new shapes and its counts. Throws io and
/// timeout; invalid_input, before anything is removed, for a file of such a name that no capture wrote: one that other
/// users have rights to, or with another header.
size_t clear_captures(const std::filesystem::path& folder);

}  // namespace attune
