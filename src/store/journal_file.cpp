// SPDX-License-Identifier: MIT
#include "store/journal_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/mutex.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

using Identity = std::pair<dev_t, ino_t>;
using Page = std::array<unsigned char, 4096>;

constexpr mode_t kOthers = 077;
constexpr std::string_view kMagic{"SQLite format 3\0", 16};
constexpr size_t kHeaderBytes = 100,
                 kApplicationIdOffset = 68;  // https://sqlite.org/fileformat2.html#the_database_header
constexpr std::array kCompanions = {"-wal", "-shm"};
/// Non-blocking, because opening a pipe without a writer would never return.
constexpr int kOpenToLook = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;

Identity identity_of(const struct stat& status) { return {status.st_dev, status.st_ino}; }

uint32_t big_endian(const unsigned char* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

void put_big_endian(unsigned char* bytes, uint32_t value) {
  for (int i = 3; i >= 0; --i, value >>= 8) bytes[i] = static_cast<unsigned char>(value);
}

[[noreturn]] void fail_kind(const fs::path& file, mode_t mode) {
  if (S_ISLNK(mode))
    fail(ErrorCode::invalid_input, "a journal must not be a link, name the file itself with --journal: '{}'",
         file.string());
  fail(ErrorCode::invalid_input, "a journal must be a regular file, name one with --journal: '{}'", file.string());
}

[[noreturn]] void fail_foreign(const fs::path& file, bool is_database) {
  if (is_database)
    fail(ErrorCode::invalid_input, "the file is a database of another program, name another with --journal: '{}'",
         file.string());
  fail(ErrorCode::invalid_input,
       "the file is not a journal, or its first page is damaged: name another with --journal or restore a copy: '{}'",
       file.string());
}

[[noreturn]] void fail_open(const fs::path& file, int error) {
  fail(error == EACCES ? ErrorCode::invalid_input : ErrorCode::io,
       "the journal cannot be opened ({}), check its mode or name another with --journal: '{}'", std::strerror(error),
       file.string());
}

std::optional<struct stat> file_status(const fs::path& file) {
  struct stat status {};
  if (::lstat(file.c_str(), &status) == 0) return status;
  if (errno != ENOENT) fail_open(file, errno);
  return std::nullopt;
}

/// Application id in the header of a database; nullopt if the bytes are no such header.
std::optional<uint32_t> application_id(std::span<const unsigned char> header) {
  if (header.size() < kHeaderBytes || std::memcmp(header.data(), kMagic.data(), kMagic.size()) != 0) return {};
  return big_endian(header.data() + kApplicationIdOffset);
}

/// Finds a journal that an earlier version started and that was killed before SQLite first copied its write-ahead log
/// into it: the first page, with the application id, is only in the log, among the pages of the first transaction.
bool log_has_application_id(const fs::path& file) {
  const int descriptor = ::open((file.string() + "-wal").c_str(), kOpenToLook);
  if (descriptor < 0) return false;
  constexpr off_t kLogHeaderBytes = 32, kFrameHeaderBytes = 24;
  constexpr int kMaxFrames = 16;
  bool found = false;
  std::array<unsigned char, kFrameHeaderBytes + kHeaderBytes> frame{};
  for (int i = 0; i < kMaxFrames && !found; ++i) {
    const off_t offset = kLogHeaderBytes + i * (kFrameHeaderBytes + static_cast<off_t>(sizeof(Page)));
    if (::pread(descriptor, frame.data(), frame.size(), offset) != static_cast<ssize_t>(frame.size())) break;
    found = big_endian(frame.data()) == 1 &&
            application_id(std::span(frame).subspan(kFrameHeaderBytes)) == kJournalApplicationId;
  }
  ::close(descriptor);  // SQLite locks no byte of the log
  return found;
}

/// Throws unless an open file is a journal.
void check_header(const fs::path& file, int descriptor, const struct stat& status) {
  std::array<unsigned char, kHeaderBytes> header{};
  const ssize_t count = ::pread(descriptor, header.data(), header.size(), 0);
  if (count < 0) fail_open(file, errno);
  const auto id = application_id(std::span(header).first(static_cast<size_t>(count)));
  if (id == kJournalApplicationId) return;
  const bool begun = id == 0u && status.st_size <= static_cast<off_t>(sizeof(Page));
  if (!begun || !log_has_application_id(file)) fail_foreign(file, id.has_value());
}

/// Throws unless a file beside a journal is SQLite's or does not exist. SQLite empties the log and rebuilds the shared
/// memory after a power loss.
void check_companion(const fs::path& path) {
  const auto status = file_status(path);
  if (!status) return;
  if (!S_ISREG(status->st_mode)) fail_kind(path, status->st_mode);
  const int descriptor = ::open(path.c_str(), kOpenToLook);
  if (descriptor < 0 && errno == ELOOP) fail_kind(path, S_IFLNK);
  if (descriptor < 0) return;  // it is gone, or SQLite will report why it cannot be read
  std::array<unsigned char, 4> first{};
  [[maybe_unused]] const ssize_t count = ::pread(descriptor, first.data(), first.size(), 0);
  // No connection of this process is open yet, so no locks are dropped.
  ::close(descriptor);
  // The last bit of the log's magic is its byte order.
  constexpr uint32_t kLogMagic = 0x377f0682, kSharedMemoryVersion = 3007000;
  uint32_t native = 0;
  std::memcpy(&native, first.data(), sizeof native);
  if (native == 0 || (big_endian(first.data()) & ~1u) == kLogMagic || native == kSharedMemoryVersion) return;
  fail(ErrorCode::invalid_input,
       "a file of another program has the name of the journal's companion file, move it away or name another journal "
       "with --journal: '{}'",
       path.string());
}

/// A database of one page without tables; the application id is its only mark.
Page empty_journal() {
  Page page{};
  std::memcpy(page.data(), kMagic.data(), kMagic.size());
  page[16] = sizeof(Page) >> 8;
  page[18] = page[19] = 1;  // rollback journal for reads and writes; SQLite turns the write-ahead log on
  page[21] = 64;            // these three values are fixed
  page[22] = page[23] = 32;
  put_big_endian(&page[24], 1);  // number of changes; equal to the one at 92, so the size that follows is valid
  put_big_endian(&page[28], 1);  // number of pages
  put_big_endian(&page[kApplicationIdOffset], kJournalApplicationId);
  put_big_endian(&page[92], 1);
  page[100] = 13;                 // the schema table: a leaf without cells,
  page[105] = sizeof(Page) >> 8;  // whose content starts at the end of the page
  return page;
}

constexpr std::string_view kTemporary = ".journal.", kTemporaryEnd = "XXXXXX";

fs::path folder_of_journal(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

/// Whether an open file is what create() leaves when it is killed: private, at most an empty journal, and locked by
/// nobody. A process that lives holds the lock.
bool is_stale_temporary(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  if (status.st_uid != ::geteuid() || (status.st_mode & kOthers) != 0) return false;
  Page page{};
  const ssize_t count = ::pread(descriptor, page.data(), page.size(), 0);
  const bool is_ours =
      count == status.st_size && std::equal(page.begin(), page.begin() + count, empty_journal().begin());
  return is_ours && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
}

void remove_stale_temporaries_beside(const fs::path& file) {
  std::error_code ignored;
  fs::directory_iterator entry(folder_of_journal(file), ignored);
  for (; entry != fs::directory_iterator(); entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kTemporary) || name.size() != kTemporary.size() + kTemporaryEnd.size()) continue;
    const int descriptor = ::open(entry->path().c_str(), kOpenToLook);
    if (descriptor < 0) continue;
    std::error_code stays;
    if (is_stale_temporary(descriptor)) fs::remove(entry->path(), stays);
    ::close(descriptor);
  }
}

/// Renames `from` to `to`. Returns false if `to` exists, or if another process took `from` for stale before it was
/// locked. Throws io.
bool rename_to_new(const fs::path& from, const fs::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  // Network file systems do not support RENAME_NOREPLACE, and FAT has no hard links.
  if (errno == EINVAL && ::link(from.c_str(), to.c_str()) == 0) return true;
  if (errno == EEXIST || errno == ENOENT) return false;
  fail(ErrorCode::io, "cannot create the journal ({}), name another with --journal: '{}'", std::strerror(errno),
       to.string());
}

/// Creates an empty journal; if another process does so at the same time, that file is kept. A file without its
/// application id is never visible. May create none, rarely.
void create(const fs::path& file) {
  if (file.has_parent_path()) make_private_folder(file.parent_path());
  const auto fail_create = [&](int error) {
    if (error == ENOSPC || error == EDQUOT)
      fail(ErrorCode::io, "no space left for the journal, free some or name another with --journal: '{}'",
           file.string());
    fail(ErrorCode::io, "cannot create the journal ({}), check its folder's mode or name another with --journal: '{}'",
         std::strerror(error), file.string());
  };
  std::string temporary = folder_of_journal(file) / fmt::format("{}{}", kTemporary, kTemporaryEnd);
  const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);  // with mode 0600
  if (descriptor < 0) fail_create(errno);
  ::flock(descriptor, LOCK_EX | LOCK_NB);
  const Page page = empty_journal();
  errno = ENOSPC;  // a short write sets no error
  const bool written =
      ::write(descriptor, page.data(), page.size()) == static_cast<ssize_t>(page.size()) && ::fsync(descriptor) == 0;
  const int error = errno;
  try {
    if (!written) fail_create(error);
    rename_to_new(temporary, file);
  } catch (...) {
    ::unlink(temporary.c_str());
    ::close(descriptor);
    throw;
  }
  ::unlink(temporary.c_str());
  ::close(descriptor);
}

/// A file that lies where SQLite would keep the log of a new journal, and would be mistaken for it.
std::optional<fs::path> left_beside(const fs::path& file) {
  for (const char* ending : {"-wal", "-shm", "-journal"}) {
    fs::path beside = file.string() + ending;
    if (file_status(beside)) return beside;
  }
  return std::nullopt;
}

/// Removes the rights of others from an open file of this user.
void take_rights_of_others(const fs::path& file, int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) fail_open(file, errno);
  if (status.st_uid != ::geteuid() || (status.st_mode & kOthers) == 0) return;
  if (::fchmod(descriptor, status.st_mode & 0700) != 0) {
    fail(ErrorCode::io, "other users may read the journal and its mode cannot be changed ({}), make it 0600: '{}'",
         std::strerror(errno), file.string());
  }
}

/// The journals that this process has open.
struct OpenJournals {
  Mutex mutex;
  std::map<Identity, std::weak_ptr<JournalFile>> files ATTUNE_GUARDED_BY(mutex);
};
OpenJournals& open_journals() {
  static auto* const all = new OpenJournals;  // outlives threads that end with the process
  return *all;
}

}  // namespace

JournalFile::JournalFile(const fs::path& file, int descriptor) : file_(file), descriptor_(descriptor) {}

JournalFile::~JournalFile() {
  for (const int descriptor : beside_) ::close(descriptor);
  ::close(descriptor_);
}

/// Requires: the list of open journals is locked. Returns null if the file does not exist.
std::shared_ptr<JournalFile> JournalFile::open(const fs::path& file) ATTUNE_NO_THREAD_SAFETY_ANALYSIS {
  const auto status = file_status(file);
  if (!status) return nullptr;
  if (!S_ISREG(status->st_mode)) fail_kind(file, status->st_mode);
  auto& files = open_journals().files;
  std::erase_if(files, [](const auto& one) { return one.second.expired(); });
  const auto known = files.find(identity_of(*status));
  if (auto held = known == files.end() ? nullptr : known->second.lock()) return held;

  const int descriptor = ::open(file.c_str(), kOpenToLook);
  if (descriptor < 0) {
    if (errno == ENOENT) return nullptr;
    if (errno == ELOOP) fail_kind(file, S_IFLNK);
    fail_open(file, errno);
  }
  std::shared_ptr<JournalFile> opened(new JournalFile(file, descriptor));
  struct stat now {};
  if (::fstat(descriptor, &now) != 0) fail_open(file, errno);
  if (!S_ISREG(now.st_mode)) fail_kind(file, now.st_mode);
  auto& entry = files[identity_of(now)];
  if (auto held = entry.lock()) {      // the path was replaced by a journal that is already open
    held->further_.push_back(opened);  // must not be closed before it
    return held;
  }
  check_header(file, descriptor, now);
  for (const char* ending : kCompanions) check_companion(file.string() + ending);
  entry = opened;
  return opened;
}

std::shared_ptr<const JournalFile> JournalFile::find(const fs::path& file) {
  const Lock lock(open_journals().mutex);
  if (auto found = open(file)) return found;
  fail(ErrorCode::not_found, "there is no journal yet, tune something first or name another: '{}'", file.string());
}

std::shared_ptr<const JournalFile> JournalFile::claim(const fs::path& file) {
  check_not_planted(file.parent_path());
  constexpr int kTries = 100;
  const Lock lock(open_journals().mutex);
  remove_stale_temporaries_beside(file);
  for (int i = 0; i < kTries; ++i) {
    if (const auto found = open(file)) {
      found->make_private();
      return found;
    }
    // Checked before the file is looked for again, because another process may be creating both.
    const auto beside = left_beside(file);
    if (!beside)
      create(file);
    else if (!file_status(file))
      fail(ErrorCode::invalid_input,
           "the journal is missing, but one of its companion files exists, move that away or name another with "
           "--journal: '{}'",
           beside->string());
  }
  fail(ErrorCode::io, "the journal is repeatedly removed while it is opened, find the process that removes it: '{}'",
       file.string());
}

void JournalFile::make_private() {
  take_rights_of_others(file_, descriptor_);
  for (const char* ending : kCompanions) {
    const fs::path path = file_.string() + ending;
    const auto status = file_status(path);
    if (!status) continue;
    if (!S_ISREG(status->st_mode)) fail_kind(path, status->st_mode);
    if (status->st_uid != ::geteuid() || (status->st_mode & kOthers) == 0) continue;
    const int descriptor = ::open(path.c_str(), kOpenToLook);
    if (descriptor < 0) {
      if (errno == ENOENT) continue;  // SQLite removes these files with the last connection
      if (errno == ELOOP) fail_kind(path, S_IFLNK);
      fail_open(path, errno);
    }
    // Kept open, because SQLite locks bytes of the shared-memory file.
    beside_.push_back(descriptor);
    take_rights_of_others(path, descriptor);
  }
}

bool JournalFile::is_in_place() const noexcept {
  struct stat held {
  }, named{};
  return ::fstat(descriptor_, &held) == 0 && ::lstat(file_.c_str(), &named) == 0 &&
         identity_of(held) == identity_of(named);
}

bool JournalFile::grants_locks() const noexcept {
  // A byte that SQLite does not lock, on a descriptor that stays open: locks of other connections are not touched.
  struct flock byte {};
  byte.l_type = F_RDLCK;
  byte.l_whence = SEEK_SET;
  byte.l_start = off_t{1} << 40;
  byte.l_len = 1;
  if (::fcntl(descriptor_, F_SETLK, &byte) != 0) return errno == EACCES || errno == EAGAIN || errno == EINTR;
  byte.l_type = F_UNLCK;
  ::fcntl(descriptor_, F_SETLK, &byte);
  return true;
}

void JournalFile::check_locks() const {
  if (grants_locks()) return;
  fail(ErrorCode::database,
       "the journal's file system grants no locks ({}), name a file on another one with --journal: '{}'",
       std::strerror(errno), file_.string());
}

void JournalFile::check_in_place() const {
  if (is_in_place()) return;
  fail(ErrorCode::database,
       "the journal was removed or replaced during the run, only the published results are kept: "
       "'{}'",
       file_.string());
}

}  // namespace attune
