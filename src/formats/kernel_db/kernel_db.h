// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// MIOpen's kernel-db: compiled kernels by name and arguments, as SQLite (`.kdb`) (docs/formats/perf_db.md).
namespace attune {

/// One kernel. `blob` is its bzip2 stream, or the bytes themselves if `uncompressed_size` is 0.
struct KernelDbRow {
  int64_t id = 0;
  std::string name, args, blob;
  std::string hash;  ///< MD5 of the plain bytes, 32 lower-case hexadecimal digits.
  int64_t uncompressed_size = 0;
};

struct KernelDb {
  std::vector<std::string> schema;  ///< The statements of its table and index.
  std::vector<KernelDbRow> kernels;

  /// The table that MIOpen makes.
  static const std::vector<std::string>& own_schema();
};

/// The largest kernel, in plain bytes.
inline constexpr int64_t kMaxKernelBytes = int64_t{256} << 20;

/// False for a file that cannot be read.
bool is_kernel_db(const std::filesystem::path& path);
/// Reads a database and checks each kernel: its blob expands to the stated size, never further, and has the stated
/// hash. Throws invalid_input (ForeignDatabase), and for the first kernel that fails.
KernelDb read_kernel_db(const std::filesystem::path& path);
/// A kernel that cannot be used, without the file's name.
struct KernelDbDefect {
  int64_t id = 0;
  std::string name, what;
};
/// The same without the blobs, which need not be in memory together. Kernels that fail are added to `defects`.
KernelDb read_kernel_db_with_defects(const std::filesystem::path& path, std::vector<KernelDbDefect>& defects);
/// The bytes of a SQLite file with the same `.dump` as the one that was read. Throws invalid_input for repeated
/// kernels.
std::string kernel_db_bytes(const KernelDb& db);

/// The plain bytes, at least one. Throws invalid_input unless the blob has the stated size and hash.
std::string kernel_bytes(const KernelDbRow& row);
/// A row of plain bytes, compressed with level 9. Throws invalid_input if there is none.
KernelDbRow kernel_db_row(int64_t id, std::string name, std::string args, std::string_view bytes);
/// MD5 as 32 lower-case hexadecimal digits.
std::string md5(std::string_view bytes);

}  // namespace attune
