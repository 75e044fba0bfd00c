// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// MIOpen's find-db: the times of solvers by key, as text (docs/formats/find_db.md).
namespace attune {

/// One solver of a key. All fields are the text of the file.
struct FindDbEntry {
  std::string_view id;  ///< Before the colon: the solver (v2), or the algorithm (v1).
  std::string_view solver;
  std::string_view time_ms;
  std::string_view workspace_bytes;
  std::string_view algorithm;
  std::string_view kernel_key;  ///< v1: its last field, which MIOpen no longer reads. Null in v2.

  bool is_v1() const noexcept { return kernel_key.data() != nullptr; }
};

/// Whether its time is a positive, finite number.
bool has_usable_time(const FindDbEntry& entry);

struct FindDbRecord {
  std::string_view key;
  size_t line = 0;  ///< In the file; 0: added.
  std::vector<FindDbEntry> entries;
};

/// A defect of a file that can be read.
struct FindDbDefect {
  size_t line = 0;
  std::string key;
  std::string what;
  bool is_time = false;  ///< The time of an entry is not usable.
};

/// The times of a find-db. Records and entries can be reordered and removed; their views stay valid as long as the
/// object they came from, moved or not. Not thread-safe.
class FindDb {
 public:
  FindDb() = default;
  FindDb(FindDb&&) = default;
  FindDb& operator=(FindDb&&) = default;

  /// Reads a file of at most 1 GiB. Throws invalid_input `a.fdb.txt:17: …` for what parse_text_db() refuses, for an
  /// entry that has neither 3 fields (v2) nor 5 (v1), and for the first of defects().
  static FindDb read(const std::filesystem::path& path);
  static FindDb parse(std::string content, const std::string& name);
  /// The same without a look at the defects.
  static FindDb read_with_defects(const std::filesystem::path& path);
  static FindDb parse_with_defects(std::string content, const std::string& name);

  std::vector<FindDbRecord>& records() noexcept { return records_; }
  const std::vector<FindDbRecord>& records() const noexcept { return records_; }
  size_t num_entries() const noexcept;

  /// In the order of the file: malformed keys, repeated solvers of a key, times that are not positive and finite,
  /// workspaces that are no count of bytes, empty names.
  std::vector<FindDbDefect> defects() const;
  /// Keys that stand in more than one line.
  std::vector<FindDbDefect> repeated_keys() const;
  /// Keys that name no problem of `conv`, with why_untunable(). Throws invalid_input for one that is no key.
  std::vector<FindDbDefect> untunable_keys() const;

  /// Turns v1 entries into v2: the algorithm stays, the key of the kernel cache is dropped.
  void make_v2() noexcept;
  /// Puts keys in byte order and the entries of each by (time, solver). `best`: how many entries a key keeps; 0: all.
  void sort(size_t best = 0);
  /// Puts the entries of each key by (time, solver); keys keep their order.
  void sort_entries();
  /// A copy that lives as long as this object: text for a new entry or key.
  std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }

  /// The file: that which was read, byte for byte, if nothing was changed and it had no blank line.
  std::string text() const;

 private:
  void check() const;

  std::string name_;
  std::deque<std::string> texts_;
  std::vector<FindDbRecord> records_;
  bool ends_line_ = true;  ///< The last line has an end.
};

/// Whether a file is a find-db: its first line is a record with a key of groups and an entry of 3 or 5 fields. False
/// for a file that cannot be read, and for a pipe.
bool is_find_db(const std::filesystem::path& path);
/// `<arch><cu>`: up to 64 compute units as `_` and a decimal number, above as lower-case hexadecimal: gfx906_60,
/// gfx90878.
std::string miopen_device_name(std::string_view arch, int64_t num_units);
/// The device that the name of a system file of an AMD device states: `gfx90878.HIP.fdb.txt`, `gfx906_60.db`.
struct MiopenDevice {
  std::string arch;
  int64_t num_units = 0;
};
/// Nothing for other names, and for files of users (`gfx90878_1.1.0.udb`).
std::optional<MiopenDevice> device_of_miopen_file(const std::filesystem::path& path);

}  // namespace attune
