// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// The text databases of MIOpen. A line is a record: `KEY=ID:VALUES;ID:VALUES…` (docs/formats/find_db.md).
namespace attune {

/// Views of the text that was parsed.
struct TextDbEntry {
  std::string_view id, values;
};
struct TextDbRecord {
  std::string_view key;
  size_t line = 0;
  std::vector<TextDbEntry> entries;  ///< At least one.
};

inline constexpr uint64_t kMaxTextDbBytes = uint64_t{1} << 30;
inline constexpr size_t kMaxTextDbLineBytes = 64 << 10;

/// Splits a text into records; `name` is used in messages. Blank lines are dropped. Throws invalid_input
/// `a.fdb.txt:17: …` for a line without `=` or without an entry, an entry without `:`, a line above 64 KiB, and a byte
/// that is not printable ASCII. The records hold views of `content`.
std::vector<TextDbRecord> parse_text_db(std::string_view content, const std::string& name);

/// Whether the first line that is not blank is a record whose key starts with a digit. False for a file that cannot be
/// read, and for a pipe.
bool is_text_db(const std::filesystem::path& path);
/// The key and the first entry of such a file; empty for other files.
TextDbRecord first_text_record(std::string_view content);
/// The first 64 KiB of a regular file; empty if it cannot be read.
std::string head_of_file(const std::filesystem::path& path);

}  // namespace attune
