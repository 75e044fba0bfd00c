// SPDX-License-Identifier: MIT
#include "compile/kernel_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <set>
#include <tuple>

#include "base/blocked_write_signals.h"
#include "base/error.h"
#include "base/file.h"
#include "base/locations.h"
#include "base/mutex.h"
#include "base/sha256.h"
#include "base/variable.h"
#include "compile/cache_entry.h"
#include "compile/cache_lease.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

constexpr std::time_t kTouchAfter_s = 60;       ///< A use so soon after the last one is not written to the disk.
constexpr std::time_t kLeftOverAfter_s = 3600;  ///< Age beyond which a temporary folder's process must have died.
constexpr uint32_t kScanAfter = 64;             ///< Additions between two scans; other processes add too.
constexpr int kAttempts = 100;
constexpr uint64_t kRejectionBytes = 16 << 10;  ///< Its file and folders, in blocks of 4 KiB.
constexpr const char* kTemporary = ".new-";

[[noreturn]] void fail_write(const fs::path& path, int error) {
  fail(ErrorCode::io, "cannot write to the kernel cache ({}), choose another with ATTUNE_CACHE: '{}'",
       std::strerror(error), path.string());
}

/// A new folder, invisible to readers; removed with its content unless it was renamed.
class StagingFolder {
 public:
  explicit StagingFolder(const fs::path& root) {
    std::string name = (root / kTemporary).string() + "XXXXXX";
    if (!::mkdtemp(name.data())) fail_write(root, errno);
    path_ = name;
  }
  ~StagingFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  StagingFolder(const StagingFolder&) = delete;
  StagingFolder& operator=(const StagingFolder&) = delete;
  const fs::path& path() const noexcept { return path_; }
  /// Returns false when the target already exists, or a folder on its path was just removed.
  bool become(const fs::path& target) {
    if (::rename(path_.c_str(), target.c_str()) == 0) {
      path_.clear();
      return true;
    }
    if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOENT && errno != ENOTDIR) fail_write(target, errno);
    return false;
  }

 private:
  fs::path path_;
};

/// Removes an entry atomically for readers, then the parent folders that are empty. Returns false when the entry did
/// not exist or could not be removed.
bool remove_entry(const fs::path& root, const fs::path& entry) noexcept {
  try {
    const StagingFolder away(root);
    if (::rename(entry.c_str(), away.path().c_str()) != 0) return false;
  } catch (const Error&) {
    return false;  // A read-only cache: the entry stays, and is rejected again next time.
  }
  if (::rmdir(entry.parent_path().c_str()) == 0) ::rmdir(entry.parent_path().parent_path().c_str());
  return true;
}

/// Returns false when the root does not exist.
bool check_root(const fs::path& root) {
  const auto fail_access = [&] {
    fail(errno == EACCES ? ErrorCode::invalid_input : ErrorCode::io,
         "cannot access the kernel cache ({}), choose another with ATTUNE_CACHE: '{}'", std::strerror(errno),
         root.string());
  };
  struct stat status {};
  if (::stat(root.c_str(), &status) != 0) {
    if (errno == ENOENT) return false;
    fail_access();
  }
  if (!S_ISDIR(status.st_mode))
    fail(ErrorCode::io,
         "the kernel cache is not a folder, remove the file there or choose another with ATTUNE_CACHE: '{}'",
         root.string());
  if (!cache_entry::is_trusted_root(root))
    fail(ErrorCode::io,
         "the kernel cache can be written by other users, remove that permission or choose another "
         "with ATTUNE_CACHE: '{}'",
         root.string());
  if (::faccessat(AT_FDCWD, root.c_str(), R_OK | X_OK, AT_EACCESS) != 0) fail_access();
  return true;
}

/// Returns false when another process has just removed the last entry above or below, and with it the folder.
bool make_folder(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0) {
    if (errno == ENOENT) return false;
    if (errno != EEXIST) fail_write(folder, errno);
  }
  if (cache_entry::is_trusted_folder(folder)) return true;
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0 && errno == ENOENT) return false;
  fail(ErrorCode::io,
       "a folder in the kernel cache is a link or can be written by other users, remove it or choose another cache "
       "with ATTUNE_CACHE: '{}'",
       folder.string());
}

void move_file(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error == std::errc::cross_device_link) {
    const BlockedWriteSignals blocked;
    fs::copy_file(from, to, error);
    std::error_code ignored;
    if (!error) fs::remove(from, ignored);
  }
  if (error) fail_write(to, error.value());
  if (::chmod(to.c_str(), 0600) != 0) fail_write(to, errno);
}

/// Marks the binary as used now; eviction follows this time.
void touch(const Binary& binary) {
  const fs::path description = binary.file.parent_path() / cache_entry::kDescription;
  struct stat status {};
  if (::stat(description.c_str(), &status) == 0 && std::time(nullptr) - status.st_mtime > kTouchAfter_s)
    ::utimensat(AT_FDCWD, description.c_str(), nullptr, 0);
}

struct StoredEntry {
  fs::path path;
  std::string name;  ///< cache_entry::Place::name()
  uint64_t bytes;
  timespec used;
};

std::vector<StoredEntry> stored_in(const fs::path& root) {
  std::vector<StoredEntry> all;
  for (const cache_entry::Place& place : cache_entry::places(root)) {
    const fs::path path = place.path(root);
    struct stat binary {
    }, description{};
    if (::lstat((path / cache_entry::kDescription).c_str(), &description) != 0) continue;
    const bool has_binary = ::lstat((path / cache_entry::kBinary).c_str(), &binary) == 0;
    const auto bytes = static_cast<uint64_t>(binary.st_size + description.st_size);
    all.push_back({path, place.name(), bytes + (has_binary ? 0 : kRejectionBytes), description.st_mtim});
  }
  return all;
}

uint64_t total_bytes(const std::vector<StoredEntry>& all) {
  uint64_t total = 0;
  for (const StoredEntry& entry : all) total += entry.bytes;
  return total;
}

void remove_old_staging(const fs::path& root) {
  std::error_code error;
  for (fs::directory_iterator entry(root, error), end; !error && entry != end; entry.increment(error)) {
    struct stat status {};
    if (!entry->path().filename().string().starts_with(kTemporary)) continue;
    if (::lstat(entry->path().c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) continue;
    std::error_code ignored;
    if (std::time(nullptr) - status.st_mtime > kLeftOverAfter_s) fs::remove_all(entry->path(), ignored);
  }
}

/// The kernels that this process has compiled, or may use as they are. Never destroyed: threads may still compile when
/// the process ends.
class SettledKernels {
 public:
  static SettledKernels& all() {
    static auto* const one = new SettledKernels;
    return *one;
  }
  void add(fs::path recipe) {
    const Lock guard(lock_);
    recipes_.insert(std::move(recipe));
  }
  bool contains(const fs::path& recipe) const {
    const Lock guard(lock_);
    return recipes_.contains(recipe);
  }

 private:
  mutable Mutex lock_;
  std::set<fs::path> recipes_ ATTUNE_GUARDED_BY(lock_);
};

CacheReuse reuse_in_environment() {
  for (const char* name : {"ATTUNE_REBUILD", "AITER_REBUILD"}) {
    if (const char* value = variable_or_null(name))
      return std::strcmp(value, "0") == 0 ? CacheReuse::all : CacheReuse::of_this_process;
  }
  return CacheReuse::all;
}

struct EvictionResult {
  uint64_t bytes_left = 0;
  bool is_stuck = false;  ///< Entries that could not be evicted exceed the limit.
};

/// Evicts the least recently used entries without a lease until nine tenths of the limit remain. The margin avoids a
/// scan of a full cache at every addition.
EvictionResult evict(const fs::path& root, std::vector<StoredEntry> all, const fs::path& added, uint64_t max_bytes) {
  uint64_t total = total_bytes(all), added_bytes = 0;
  const CacheLock lock(root, CacheLock::Use::eviction);
  if (lock.state() == CacheLock::State::busy) return {total, true};
  const std::set<std::string> leased = leased_entries(root);
  std::sort(all.begin(), all.end(), [](const StoredEntry& a, const StoredEntry& b) {
    return std::tie(a.used.tv_sec, a.used.tv_nsec, a.path) < std::tie(b.used.tv_sec, b.used.tv_nsec, b.path);
  });
  for (const StoredEntry& entry : all) {
    if (total <= max_bytes - max_bytes / 10) break;
    if (entry.path == added) added_bytes = entry.bytes;
    if (entry.path == added || leased.contains(entry.name)) continue;
    if (remove_entry(root, entry.path)) total -= entry.bytes;
  }
  return {total, total - added_bytes > max_bytes};
}

}  // namespace

CacheReuse cache_reuse() {
  static const CacheReuse reuse = reuse_in_environment();
  return reuse;
}

std::vector<fs::path> cache_folders(fs::path own) {
  std::vector<fs::path> folders = {std::move(own)};
  const fs::path installed = installed_kernels_location().path;
  std::error_code ignored;
  if (fs::is_directory(installed, ignored) && !fs::equivalent(installed, folders.front(), ignored))
    folders.push_back(installed);
  return folders;
}

KernelCache::KernelCache(std::vector<fs::path> folders, uint64_t max_bytes, Lease lease, CacheReuse reuse)
    : folders_(std::move(folders)), max_bytes_(max_bytes), reuse_(reuse) {
  ATTUNE_CHECK(!folders_.empty(), "a kernel cache has a folder to write to");
  if (lease == Lease::held) lease_ = std::make_unique<CacheLease>(folders_.front());
}

KernelCache::~KernelCache() = default;

/// Whether the stored binary of a recipe is to be compiled again.
bool KernelCache::ignores(std::string_view arch, std::string_view recipe) const {
  return reuse_ == CacheReuse::of_this_process && !SettledKernels::all().contains(folders_.front() / arch / recipe);
}

void KernelCache::settle(std::string_view arch, std::string_view recipe) const {
  if (reuse_ == CacheReuse::of_this_process) SettledKernels::all().add(folders_.front() / arch / recipe);
}

/// Leases an entry of the first folder if this object holds leases. The caller must check the entry under the returned
/// lock.
std::unique_ptr<CacheLock> KernelCache::leased(const cache_entry::Place& place) const {
  const bool is_possible = lease_ != nullptr && cache_entry::is_name(place.arch) &&
                           cache_entry::is_name(place.recipe) && cache_entry::is_name(place.toolchain) &&
                           cache_entry::is_trusted_root(folders_.front());
  return is_possible ? lease_->add(place) : nullptr;
}

std::optional<Binary> KernelCache::find(std::string_view arch, std::string_view recipe,
                                        std::string_view preferred_toolchain) const {
  if (ignores(arch, recipe)) return std::nullopt;
  const auto checked = [&](const fs::path& folder, std::string_view toolchain) {
    const bool writable = folder == folders_.front();
    const auto lock = writable ? leased({std::string(arch), std::string(recipe), std::string(toolchain)}) : nullptr;
    cache_entry::Entry entry = cache_entry::read(folder, arch, recipe, toolchain);
    const bool good = entry.is_right() && cache_entry::is_intact(entry.binary);
    if (!good) {
      const bool damaged = entry.is_right() || entry.content == cache_entry::Content::wrong;
      if (damaged && writable) remove_entry(folder, folder / arch / recipe / toolchain);
      return std::optional<Binary>();
    }
    if (writable) touch(entry.binary);
    return std::optional<Binary>(std::move(entry.binary));
  };
  for (const fs::path& folder : folders_) {
    if (auto binary = checked(folder, preferred_toolchain)) return binary;
  }
  for (const fs::path& folder : folders_) {
    for (const std::string& toolchain : cache_entry::toolchains(folder, arch, recipe)) {
      if (toolchain == preferred_toolchain) continue;
      if (auto binary = checked(folder, toolchain)) return binary;
    }
  }
  return std::nullopt;
}

std::optional<std::string> KernelCache::rejection(std::string_view arch, std::string_view recipe,
                                                  std::string_view toolchain) const {
  if (ignores(arch, recipe)) return std::nullopt;
  for (const fs::path& folder : folders_) {
    cache_entry::Entry entry = cache_entry::read(folder, arch, recipe, toolchain);
    if (entry.content != cache_entry::Content::rejected) continue;
    if (folder == folders_.front()) touch(entry.binary);
    return std::move(entry.rejection);
  }
  return std::nullopt;
}

void KernelCache::reject(const Binary& described, std::string_view why) {
  const fs::path& root = folders_.front();
  const fs::path recipe = root / described.arch / described.recipe, entry = recipe / described.toolchain;
  for (const std::string& name : {described.arch, described.recipe, described.toolchain})
    if (!cache_entry::is_name(name)) return;
  try {
    make_root();
    StagingFolder staging(root);
    cache_entry::describe(staging.path(), described, why);
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      if (!make_folder(recipe.parent_path()) || !make_folder(recipe)) continue;
      if (staging.become(entry)) return keep_size(entry / cache_entry::kDescription);
      std::error_code ignored;
      if (fs::exists(fs::symlink_status(entry, ignored))) return;
    }
  } catch (const Error&) {
    return;  // A run can go on without a rejection; add() reports a bad folder.
  }
}

/// Creates the first folder. Throws io for one that cannot be used.
void KernelCache::make_root() const {
  const fs::path& root = folders_.front();
  if (check_root(root)) return;
  make_private_folder(root);
  check_root(root);
}

Binary KernelCache::add(Binary binary) {
  for (const std::string& name : {binary.arch, binary.recipe, binary.toolchain})
    ATTUNE_CHECK(cache_entry::is_name(name), "a binary's arch, recipe and toolchain are names of folders: '{}'", name);
  const fs::path& root = folders_.front();
  make_root();
  StagingFolder staging(root);
  move_file(binary.file, staging.path() / cache_entry::kBinary);
  binary.sha256 = sha256_of_file(staging.path() / cache_entry::kBinary);
  cache_entry::describe(staging.path(), binary);
  const fs::path recipe = root / binary.arch / binary.recipe, entry = recipe / binary.toolchain;
  if (ignores(binary.arch, binary.recipe)) remove_entry(root, entry);
  settle(binary.arch, binary.recipe);
  auto lock = leased({binary.arch, binary.recipe, binary.toolchain});
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (!make_folder(recipe.parent_path()) || !make_folder(recipe)) continue;
    const bool is_ours = staging.become(entry);
    cache_entry::Entry there = cache_entry::read(root, binary.arch, binary.recipe, binary.toolchain);
    if (there.is_right() && (is_ours || cache_entry::is_intact(there.binary))) {
      lock.reset();  // Eviction needs the lock exclusively.
      if (is_ours) keep_size(there.binary.file);
      return std::move(there.binary);
    }
    if (is_ours)
      fail(ErrorCode::io, "a binary was removed from the kernel cache while it was added, try again: '{}'",
           entry.string());
    if (there.content != cache_entry::Content::none) remove_entry(root, entry);
  }
  fail(ErrorCode::io, "cannot add a binary to the kernel cache, remove the file in its place: '{}'", entry.string());
}

void KernelCache::keep_size(const fs::path& added) {
  std::error_code ignored;
  if (stored_bytes_ && num_added_ < kScanAfter) {
    ++num_added_;
    *stored_bytes_ += fs::file_size(added, ignored);
    if (*stored_bytes_ <= max_bytes_ || is_stuck_) return;
  }
  const fs::path& root = folders_.front();
  remove_old_staging(root);
  std::vector<StoredEntry> all = stored_in(root);
  EvictionResult result{total_bytes(all)};
  if (result.bytes_left > max_bytes_) result = evict(root, std::move(all), added.parent_path(), max_bytes_);
  stored_bytes_ = result.bytes_left;
  is_stuck_ = result.is_stuck;
  num_added_ = 0;
}

std::vector<Binary> KernelCache::list() const {
  std::vector<Binary> all;
  for (const fs::path& folder : folders_) {
    if (!check_root(folder)) continue;
    for (const auto& [arch, recipe, toolchain] : cache_entry::places(folder)) {
      cache_entry::Entry entry = cache_entry::read(folder, arch, recipe, toolchain);
      if (entry.is_right()) all.push_back(std::move(entry.binary));
    }
  }
  // Stable: of equal entries in several folders, the first is the one that find() returns.
  const auto key = [](const Binary& binary) { return std::tie(binary.arch, binary.recipe, binary.toolchain); };
  std::stable_sort(all.begin(), all.end(), [&](const Binary& a, const Binary& b) { return key(a) < key(b); });
  all.erase(std::unique(all.begin(), all.end(), [&](const Binary& a, const Binary& b) { return key(a) == key(b); }),
            all.end());
  return all;
}

size_t KernelCache::clear() {
  const fs::path& root = folders_.front();
  stored_bytes_.reset();
  if (!check_root(root)) return 0;
  size_t removed = 0, staying = 0;
  for (const auto& place : cache_entry::places(root)) {
    std::error_code ignored;
    const fs::path entry = place.path(root);
    const bool has_binary = fs::exists(entry / cache_entry::kBinary, ignored);
    if (remove_entry(root, entry))
      removed += has_binary;
    else if (fs::exists(entry, ignored))  // Otherwise another process removed it.
      ++staying;
  }
  remove_old_staging(root);
  if (staying > 0)
    fail(ErrorCode::io,
         "cannot remove binaries from the kernel cache, give yourself write permission there: {} of {} remain in "
         "'{}'",
         staying, removed + staying, root.string());
  return removed;
}

}  // namespace attune
