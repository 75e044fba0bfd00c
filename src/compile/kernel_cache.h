// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "compile/cache_entry.h"
#include "core/binary.h"

namespace attune {

class CacheLease;
class CacheLock;

/// Which stored kernels a cache gives.
enum class CacheReuse : uint8_t {
  all,
  of_this_process  ///< Those that this process has compiled. The others are compiled again, each once.
};
/// What $ATTUNE_REBUILD, else $AITER_REBUILD, says: `of_this_process` unless it is unset or 0. The process reads the
/// environment at the first call; no thread may change it meanwhile. Thread-safe.
CacheReuse cache_reuse();

/// The folders of a kernel cache: the one to write to, then the installed kernels, if there are any.
std::vector<std::filesystem::path> cache_folders(std::filesystem::path own);

/// Compiled kernels on disk, `<folder>/<arch>/<recipe>/<toolchain>` (docs/formats/kernel_cache.md). Safe for concurrent
/// processes: a binary appears complete, by rename, or not at all. Folders are 0700 and files 0600; a folder or file
/// that another user (except root) owns or could have written is not used. Only one thread may use an object at a time.
class KernelCache {
 public:
  /// Whether binaries that the object found or added in the first folder stay there for its life (CacheLease), for a
  /// run that loads them later. `none`: they may be evicted at once.
  enum class Lease : uint8_t { none, held };

  /// The first folder is writable, and created when first needed; the others are read-only. When the first exceeds
  /// `max_bytes`, the least recently used binaries without a lease are evicted. Cheap: reads nothing.
  KernelCache(std::vector<std::filesystem::path> folders, uint64_t max_bytes, Lease lease = Lease::none,
              CacheReuse reuse = CacheReuse::all);
  ~KernelCache();

  /// The binary of a recipe: of the preferred toolchain, else of any other (drifted, for the caller). Its sha256 is
  /// checked against the file, its description against its path; entries that do not match are removed and not
  /// returned. Takes about 0.1 ms and the time to read the file.
  std::optional<Binary> find(std::string_view arch, std::string_view recipe,
                             std::string_view preferred_toolchain) const;
  /// Has find() return the stored binary of a recipe that nothing can compile again here.
  void settle(std::string_view arch, std::string_view recipe) const;
  /// Moves `binary.file` into the cache (from any file system) and returns its new path; fills in sha256. If another
  /// process was faster, its binary stays; one that find() ignores is replaced. Throws io, also when others could write
  /// to a folder on the path.
  Binary add(Binary binary);
  /// Why this toolchain rejected the recipe's source; nothing if reject() did not store that, or it was evicted.
  std::optional<std::string> rejection(std::string_view arch, std::string_view recipe,
                                       std::string_view toolchain) const;
  /// Stores that a toolchain rejected a source, unless an entry is there. `described` has no file. Throws nothing of
  /// Error: what cannot be stored is compiled again.
  void reject(const Binary& described, std::string_view why);
  /// All binaries, ordered by arch, recipe, toolchain. Reads every entry's metadata, but no binary. A missing folder is
  /// empty. Throws io for a path that is not a folder, or that other users can write; invalid_input for one that this
  /// user may not read.
  std::vector<Binary> list() const;
  /// Removes the binaries and rejections in the first folder; returns the number of binaries. Throws like list(), and
  /// io when some could not be removed.
  size_t clear();

 private:
  bool ignores(std::string_view arch, std::string_view recipe) const;
  std::unique_ptr<CacheLock> leased(const cache_entry::Place& place) const;
  void make_root() const;
  void keep_size(const std::filesystem::path& added);

  std::vector<std::filesystem::path> folders_;
  uint64_t max_bytes_;
  CacheReuse reuse_;
  std::unique_ptr<CacheLease> lease_;     ///< Null without one.
  std::optional<uint64_t> stored_bytes_;  ///< Size at the last scan, plus additions of this object since.
  uint32_t num_added_ = 0;                ///< Additions since the last scan.
  bool is_stuck_ = false;  ///< The last scan could not keep the limit; the next one waits as long as usual.
};

}  // namespace attune
