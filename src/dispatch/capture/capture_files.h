// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/problem.h"
#include "dispatch/table/key_codes.h"

namespace attune {

/// For the lock of a list of shapes: an application may be at its end; what waits is tried again.
inline constexpr double kShapesLockWaitS = 10;

/// A shape and how often it was called.
struct CalledShape {
  Problem problem;
  uint64_t calls = 0;
};

/// The problem of a typed call as read_shapes() gives it back. Nothing for a data type that is none.
std::optional<Problem> problem_of(const KeyCodes& codes, const GemmKey& key);
/// The same for one that is to be computed. Throws invalid_input for a key that asks for what its op has not.
Problem asked_problem(const KeyCodes& codes, const GemmKey& key);

/// What read_shapes() makes of each problem once it is in a list of shapes; nothing for one that it would refuse, and
/// the whole file with it: a size of 0, a type that the op does not take.
std::vector<std::optional<Problem>> as_read(const FamilySpec& family, std::span<const Problem> problems);

/// Adds the shapes that a list does not have, in their order; returns how many. Under the file's lock (waits 10 s); the
/// file is replaced as a whole (0600 when new), so that a reader, a killed process or a full disk never leaves a part
/// of a line. A file that is there keeps its header, order and lines; columns that a shape needs come after its last.
/// A last line without an end gets one if it can be read, and goes if not. Throws io, timeout; invalid_input for a file
/// that is no list of shapes of the family, which stays as it is.
size_t add_shapes(const std::filesystem::path& file, const FamilySpec& family, std::span<const Problem> problems,
                  double lock_wait_s = kShapesLockWaitS);

/// A list of shapes with a column `calls`, replaced as a whole (0600 when new). Throws io.
void write_counts(const std::filesystem::path& file, const FamilySpec& family, std::span<const CalledShape> shapes);
inline constexpr std::string_view kCallsColumn = "calls";

/// Where the counts of a captured file are: `counts/<file>.<process>` beside it.
std::filesystem::path counts_file(const std::filesystem::path& captured, std::string_view process);
/// All there are: `<file>.counts`, as a merge writes it, and `counts/<file>.*`; by name.
std::vector<std::filesystem::path> counts_files(const std::filesystem::path& captured);

/// Removes captured files and counts from a folder and nothing else; lock files stay (removing one would race).
/// Returns how many. A process that captures still adds what is new to it, and its counts. Throws io, timeout.
size_t clear_captures(const std::filesystem::path& folder);

}  // namespace attune
