// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/binary.h"

namespace attune {

/// Compiled kernels as this process loads them: the very bytes that were hashed, in memory that nobody can change. A
/// file of the cache may be replaced, cut or removed at any moment by another process; what is verified under a sha256
/// must be that. Each content is read once and has a name of its own for the life of the object. One thread.
class SealedBinaries {
 public:
  SealedBinaries() = default;
  ~SealedBinaries();
  SealedBinaries(const SealedBinaries&) = delete;
  SealedBinaries& operator=(const SealedBinaries&) = delete;

  /// The same binaries with files that name the sealed bytes. Throws io when a file cannot be read or its content is
  /// not the one of its sha256. About 50 µs for each that is new.
  std::vector<Binary> load(std::span<const Binary> binaries);

 private:
  struct SealedFile {
    int descriptor = -1;
    uint64_t inode = 0;  ///< A candidate may close descriptors: then the number names something else.
  };
  SealedFile seal(const Binary& binary) const;
  std::map<std::string, SealedFile> sealed_;  ///< By sha256.
};

}  // namespace attune
