// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <span>
#include <string_view>

namespace attune {

/// A file that a command writes, or that it must not write over, and the flag that names it.
struct OutputFile {
  std::string_view flag;
  std::filesystem::path path;  ///< Empty: not written.
};

/// Throws invalid_input, naming both flags, if two of the files are one, or if one is a companion of another: the lock
/// of an output (`.lock`), or a file that SQLite keeps with the journal (`-wal`, `-shm`, `-journal`). Links are
/// followed.
void check_distinct_outputs(std::span<const OutputFile> outputs, const OutputFile& journal);

}  // namespace attune
