// SPDX-License-Identifier: MIT
#include "store/journal_copy.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/error.h"
#include "base/file.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_copy(const fs::path& journal, const std::string& why) {
  fail(ErrorCode::io, "the journal cannot be read where it is, and not be copied to a temporary folder ({}): '{}'", why,
       journal.string());
}

bool is_same(const FileStamp& one, const FileStamp& other) {
  return one.inode == other.inode && one.size_bytes == other.size_bytes && one.written_ns == other.written_ns;
}

}  // namespace

JournalCopy::JournalCopy(const fs::path& journal) {
  std::error_code error;
  std::string folder = (fs::temp_directory_path(error) / "attune-journal-XXXXXX").string();
  if (error || ::mkdtemp(folder.data()) == nullptr) fail_copy(journal, error ? error.message() : std::strerror(errno));
  folder_ = folder;
  file_ = folder_ / "journal.db";
  const fs::path log = journal.string() + "-wal", log_copy = file_.string() + "-wal";
  // A writer may move pages from the log into the file meanwhile; then both are copied again.
  constexpr int kTries = 5;
  bool is_whole = false;
  for (int i = 0; i < kTries && !error && !is_whole; ++i) {
    const FileStamp before = file_stamp(journal), log_before = file_stamp(log);
    fs::copy_file(journal, file_, fs::copy_options::overwrite_existing, error);
    if (!error && log_before.inode != 0)
      fs::copy_file(log, log_copy, fs::copy_options::overwrite_existing, error);
    else if (!error)
      fs::remove(log_copy, error);
    is_whole = is_same(before, file_stamp(journal)) && log_before.inode == file_stamp(log).inode;
  }
  if (!error && is_whole) return;
  const std::string why = error ? error.message() : "it changes while it is copied, try again later";
  fs::remove_all(folder_, error);
  fail_copy(journal, why);
}

JournalCopy::~JournalCopy() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace attune
