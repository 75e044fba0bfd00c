// SPDX-License-Identifier: MIT
#pragma once
#include <list>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/binary.h"

namespace attune {

/// Compiled kernels as this process loads them: the bytes that were hashed, in memory that cannot be changed. Another
/// process may replace, truncate or remove a file of the cache at any moment, but a kernel verified under a sha256 must
/// have that content. Each content is read once and has its own file name; that of a shared object for the life of the
/// object, because the dynamic loader assumes that a known name is the same library. Of other kernels, which a solver
/// reads when it prepares a plan, only the last kMaxOthers are kept, so that descriptors and memory stay bounded. Not
/// thread-safe.
class SealedBinaries {
 public:
  static constexpr size_t kMaxOthers = 128;

  SealedBinaries() = default;
  ~SealedBinaries();
  SealedBinaries(const SealedBinaries&) = delete;
  SealedBinaries& operator=(const SealedBinaries&) = delete;

  /// Returns the same binaries with file names of the sealed bytes. Throws io when a file cannot be read or its content
  /// does not match its sha256. Takes about 50 µs for each new binary.
  std::vector<Binary> load(std::span<const Binary> binaries);

 private:
  struct SealedFile {
    int descriptor = -1;
    uint64_t inode = 0;  ///< Detects a reused descriptor number: a candidate may close descriptors.
  };
  SealedFile seal(const Binary& binary);
  void close_others();
  std::map<std::string, SealedFile> sealed_;  ///< By sha256.
  std::list<std::string> others_;             ///< Those that are no shared objects, the last loaded at the end.
};

}  // namespace attune
