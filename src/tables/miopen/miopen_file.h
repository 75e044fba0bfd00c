// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace attune {

/// The files that MIOpen reads, known by their content.
enum class MiopenFile : uint8_t { none, find_db, perf_db, perf_db_text, kernel_db };

/// None for other files, unreadable files and pipes.
MiopenFile miopen_file(const std::filesystem::path& path);
/// The same, but another file with the name of one is taken for it, so that its reader reports the defect.
MiopenFile miopen_file_or_named(const std::filesystem::path& path);
std::string_view name(MiopenFile file) noexcept;  ///< `find-db`

/// The form that the name of an output of this kind asks for. Throws invalid_input for another name, and for a file
/// that exists and is of another kind.
MiopenFile check_miopen_output(MiopenFile from, const std::filesystem::path& output);
/// Writes under the output's lock and atomically. Throws io, timeout.
void write_miopen_file(const std::filesystem::path& output, std::string_view bytes);

struct ConvertOptions {
  bool sort = false;           ///< Keys in byte order; entries of a find-db by (time, solver).
  int64_t best = 0;            ///< Entries that a key of a find-db keeps; 0: all.
  bool keep_unusable = false;  ///< Entries of a find-db whose times are not positive.
};

struct Converted {
  std::string summary;  ///< `9600 keys with 37792 entries`
  std::vector<std::string> notices;
};

/// Writes a file of MIOpen in another form, which follows from the output's name: a find-db as v2 (`.txt`) or its
/// problems as a list of shapes (`.csv`), a perf-db as SQLite (`.db`, `.udb`) or text (`.txt`), a kernel-db as it is
/// (`.kdb`, `.ukdb`). The output is written under its lock and atomically. Throws invalid_input, also for an output
/// that is the input or a file of another kind; io, timeout. Then nothing was written.
Converted convert_miopen_file(const std::filesystem::path& input, const std::filesystem::path& output,
                              const ConvertOptions& options);

}  // namespace attune
