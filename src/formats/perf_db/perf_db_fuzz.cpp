// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "formats/perf_db/perf_db.h"

namespace {

using namespace attune;

/// A file of this process, in memory where the system has such a folder.
const std::filesystem::path& fuzzed_file() {
  static const std::filesystem::path file =
      (std::filesystem::exists("/dev/shm") ? std::filesystem::path("/dev/shm")
                                           : std::filesystem::temp_directory_path()) /
      ("attune_perf_db_fuzz." + std::to_string(::getpid()));
  return file;
}

void check_text(const std::string& content) {
  const std::string text = perf_db_text(parse_perf_db_text(content, "fuzz.db.txt"));
  ATTUNE_CHECK(perf_db_text(parse_perf_db_text(text, "again.db.txt")) == text, "a perf-db changed on its way");
}

void check_database(const std::string& content) {
  ATTUNE_CHECK(write_own_file(fuzzed_file(), content), "the fuzzed file cannot be written");
  const PerfDb db = read_perf_db(fuzzed_file());
  perf_db_bytes(db);
}

}  // namespace

/// Any bytes are either a perf-db, as text or as SQLite, or an Error.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string content(reinterpret_cast<const char*>(data), size);
  try {
    if (content.starts_with("SQLite"))
      check_database(content);
    else
      check_text(content);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal) throw;
  }
  return 0;
}
