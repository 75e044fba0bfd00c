// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "core/binary.h"

namespace attune {

/// Compiled kernels on disk, `<folder>/<arch>/<recipe>/<toolchain>` (docs/formats/kernel_cache.md). Safe with many
/// processes: a binary appears whole, by rename, or not at all. Folders are 0700 and files 0600; a folder or file that
/// another user (root excepted) owns or could have written is not used. One object may be used from one thread at a
/// time.
class KernelCache {
 public:
  /// The first folder is written to, made when first needed; the others are read only. When the first exceeds
  /// `max_bytes`, what was used longest ago is removed. Cheap: nothing is read.
  KernelCache(std::vector<std::filesystem::path> folders, uint64_t max_bytes);

  /// The binary of a recipe: of the preferred toolchain, else of any other (the caller calls it drifted). Its sha256 is
  /// checked against the file, its description against its place; what does not match is removed and not there. About
  /// 0.1 ms and the reading.
  std::optional<Binary> find(std::string_view arch, std::string_view recipe,
                             std::string_view preferred_toolchain) const;
  /// Moves `binary.file` in (it may lie on another file system) and returns where it lies now; fills in sha256. If
  /// another process was faster, that one stays. Throws io, also when others could write to a folder on the way.
  Binary add(Binary binary);
  /// Ordered by arch, recipe, toolchain. Reads every entry's metadata, not the binaries. A folder that does
  /// not exist holds nothing. Throws io for one that is none or that other users can write.
  std::vector<Binary> list() const;
  /// Removes what lies in the first folder; returns how many binaries. Throws io as list(), and when some
  /// could not be removed.
  size_t clear();

 private:
  void keep_size(const std::filesystem::path& added);

  std::vector<std::filesystem::path> folders_;
  uint64_t max_bytes_;
  std::optional<uint64_t> stored_bytes_;  ///< Of the last scan and what this object added since.
  uint32_t num_added_ = 0;                ///< Since the last scan.
};

}  // namespace attune
