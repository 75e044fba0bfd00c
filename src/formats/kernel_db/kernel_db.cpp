// SPDX-License-Identifier: MIT
#include "formats/kernel_db/kernel_db.h"

#include <fmt/format.h>
#include <nettle/md5.h>

#include <array>

#include "base/error.h"
#include "base/text.h"
#include "formats/bzip2.h"
#include "formats/sqlite_file.h"

namespace attune {
namespace {

const std::vector<std::string> kKernelTables = {"kern_db"};
const std::vector<std::string> kKernelColumns = {"id",          "kernel_name", "kernel_args",
                                                 "kernel_blob", "kernel_hash", "uncompressed_size"};

}  // namespace

const std::vector<std::string>& KernelDb::own_schema() {
  static const std::vector<std::string> schema = {
      "CREATE TABLE `kern_db` (`id` INTEGER PRIMARY KEY ASC,`kernel_name` TEXT NOT NULL,`kernel_args` TEXT NOT NULL,"
      "`kernel_blob` BLOB NOT NULL,`kernel_hash` TEXT NOT NULL,`uncompressed_size` INT NOT NULL)",
      "CREATE UNIQUE INDEX `idx_kern_db` ON kern_db(kernel_name, kernel_args)"};
  return schema;
}

bool is_kernel_db(const std::filesystem::path& path) { return tables_of_sqlite_file(path) == kKernelTables; }

namespace {

/// `take(row, defect)`: a row, and why it cannot be used; empty: it can.
template <typename Take>
KernelDb read_kernels(const std::filesystem::path& path, Take take) {
  ForeignDatabase file(path);
  file.require_tables(kKernelTables);
  file.require_columns("kern_db", kKernelColumns);
  file.require_rows("kern_db",
                    "typeof(kernel_name) = 'text' AND typeof(kernel_args) = 'text' AND typeof(kernel_blob) = 'blob' "
                    "AND typeof(kernel_hash) = 'text' AND typeof(uncompressed_size) = 'integer'",
                    "has a value of another type");
  KernelDb db{.schema = file.schema(), .kernels = {}};
  file.guard([&] {
    KernelDbRow row;
    soci::blob blob(file.session());
    long long id = 0, size = 0;
    soci::statement statement =
        (file.session().prepare << "SELECT id, kernel_name, kernel_args, kernel_blob, kernel_hash, uncompressed_size "
                                   "FROM kern_db ORDER BY id",
         soci::into(id), soci::into(row.name), soci::into(row.args), soci::into(blob), soci::into(row.hash),
         soci::into(size));
    statement.execute();
    while (statement.fetch()) {
      row.id = id;
      row.uncompressed_size = size;
      row.blob.resize(blob.get_len());
      if (!row.blob.empty()) blob.read(0, row.blob.data(), row.blob.size());
      std::string defect;
      try {
        kernel_bytes(row);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::invalid_input) throw;
        defect = error.what();
      }
      take(db, row, defect);
    }
  });
  return db;
}

}  // namespace

KernelDb read_kernel_db(const std::filesystem::path& path) {
  return read_kernels(path, [&](KernelDb& db, const KernelDbRow& row, const std::string& defect) {
    if (!defect.empty())
      fail(ErrorCode::invalid_input, "{}: kernel {} '{}': {}", path.string(), row.id, shown(row.name), defect);
    db.kernels.push_back(row);
  });
}

KernelDb read_kernel_db_with_defects(const std::filesystem::path& path, std::vector<KernelDbDefect>& defects) {
  return read_kernels(path, [&](KernelDb& db, const KernelDbRow& row, const std::string& defect) {
    if (!defect.empty()) defects.push_back({row.id, row.name, defect});
    db.kernels.push_back(row);
    db.kernels.back().blob.clear();
  });
}

std::string kernel_db_bytes(const KernelDb& db) {
  NewDatabase made(db.schema);
  made.fill("the kernel-db", [&] {
    for (const KernelDbRow& row : db.kernels) {
      soci::blob blob(made.session());
      if (!row.blob.empty()) blob.write(0, row.blob.data(), row.blob.size());
      const long long id = row.id, size = row.uncompressed_size;
      made.session() << "INSERT INTO kern_db (id, kernel_name, kernel_args, kernel_blob, kernel_hash, "
                        "uncompressed_size) VALUES (:id, :name, :args, :blob, :hash, :size)",
          soci::use(id, "id"), soci::use(row.name, "name"), soci::use(row.args, "args"), soci::use(blob, "blob"),
          soci::use(row.hash, "hash"), soci::use(size, "size");
    }
  });
  return made.bytes();
}

std::string kernel_bytes(const KernelDbRow& row) {
  if (row.blob.empty()) fail(ErrorCode::invalid_input, "the kernel is empty");
  if (row.uncompressed_size < 0 || row.uncompressed_size > kMaxKernelBytes)
    fail(ErrorCode::invalid_input, "a kernel has at most {} bytes, this one states {}", kMaxKernelBytes,
         row.uncompressed_size);
  std::string bytes =
      row.uncompressed_size == 0 ? row.blob : bunzip2(row.blob, static_cast<uint64_t>(row.uncompressed_size));
  if (row.uncompressed_size > 0 && bytes.size() != static_cast<size_t>(row.uncompressed_size))
    fail(ErrorCode::invalid_input, "the kernel has {} bytes and states {}", bytes.size(), row.uncompressed_size);
  if (const std::string hash = md5(bytes); hash != row.hash)
    fail(ErrorCode::invalid_input, "the kernel's MD5 is {} and not '{}' as it states", hash, shown(row.hash));
  return bytes;
}

KernelDbRow kernel_db_row(int64_t id, std::string name, std::string args, std::string_view bytes) {
  // Size 0 would say that the blob is not compressed.
  if (bytes.empty()) fail(ErrorCode::invalid_input, "the kernel {} is empty", shown(name));
  return {.id = id,
          .name = std::move(name),
          .args = std::move(args),
          .blob = bzip2(bytes),
          .hash = md5(bytes),
          .uncompressed_size = static_cast<int64_t>(bytes.size())};
}

std::string md5(std::string_view bytes) {
  md5_ctx context;
  md5_init(&context);
  md5_update(&context, bytes.size(), reinterpret_cast<const uint8_t*>(bytes.data()));
  std::array<uint8_t, MD5_DIGEST_SIZE> digest;
  md5_digest(&context, digest.size(), digest.data());
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

}  // namespace attune
