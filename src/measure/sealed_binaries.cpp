// SPDX-License-Identifier: MIT
#include "measure/sealed_binaries.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"
#include "compile/elf_file.h"

namespace attune {
namespace {

uint64_t inode_of(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 ? status.st_ino : 0;
}

bool write_all(int descriptor, const std::string& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t written = ::write(descriptor, bytes.data() + at, bytes.size() - at);
    if (written > 0)
      at += static_cast<size_t>(written);
    else if (errno != EINTR)
      return false;
  }
  return true;
}

}  // namespace

SealedBinaries::~SealedBinaries() {
  for (const auto& [sha, sealed] : sealed_) {
    if (inode_of(sealed.descriptor) == sealed.inode) ::close(sealed.descriptor);
  }
}

std::vector<Binary> SealedBinaries::load(std::span<const Binary> binaries) {
  std::vector<Binary> loaded(binaries.begin(), binaries.end());
  for (Binary& binary : loaded) {
    auto found = sealed_.find(binary.sha256);
    if (found == sealed_.end()) found = sealed_.emplace(binary.sha256, seal(binary)).first;
    if (inode_of(found->second.descriptor) != found->second.inode)
      fail(ErrorCode::io, "the memory of a compiled kernel was closed: {}", binary.recipe);
    binary.file = fmt::format("/proc/self/fd/{}", found->second.descriptor);
    // At the end of the list, which close_others() leaves open.
    if (const auto known = std::find(others_.begin(), others_.end(), binary.sha256); known != others_.end())
      others_.splice(others_.end(), others_, known);
  }
  close_others();
  return loaded;
}

/// Closes the binaries that were loaded longest ago, but no shared object.
void SealedBinaries::close_others() {
  for (; others_.size() > kMaxOthers; others_.pop_front()) {
    const auto oldest = sealed_.find(others_.front());
    if (inode_of(oldest->second.descriptor) == oldest->second.inode) ::close(oldest->second.descriptor);
    sealed_.erase(oldest);
  }
}

SealedBinaries::SealedFile SealedBinaries::seal(const Binary& binary) {
  const std::string bytes = read_file(binary.file);
  if (sha256(bytes) != binary.sha256)
    fail(ErrorCode::io, "the file of a compiled kernel is not the one that was compiled, it changed meanwhile: '{}'",
         binary.file.string());
  const int descriptor = ::memfd_create("attune-kernel", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) fail(ErrorCode::io, "no memory for a compiled kernel ({})", std::strerror(errno));
  if (!write_all(descriptor, bytes) ||
      ::fcntl(descriptor, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    const int error = errno;
    ::close(descriptor);
    fail(ErrorCode::io, "a compiled kernel cannot be kept in memory ({})", std::strerror(error));
  }
  if (!is_shared_object(bytes)) others_.push_back(binary.sha256);
  return {descriptor, inode_of(descriptor)};
}

}  // namespace attune
