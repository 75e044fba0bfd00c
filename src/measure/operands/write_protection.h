// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string_view>

#include "base/hash.h"
#include "device/device_memory.h"

namespace attune {

/// While it lives, candidates cannot change some pages of a device unseen: a write to them ends the process, or is
/// found by is_intact() where the memory has no protection.
class WriteProtection {
 public:
  /// `content`: `operands`, for the message. Throws Error{device} when the system refuses. The pages must outlive it.
  WriteProtection(DeviceMemory& memory, Buffer pages, std::string_view content);
  ~WriteProtection();
  WriteProtection(const WriteProtection&) = delete;
  WriteProtection& operator=(const WriteProtection&) = delete;

  /// Whether a write ends the process, so that nothing has to be hashed.
  bool is_certain() const noexcept { return !hash_; }
  /// Whether the pages are as they were at first; hashes them unless it is certain.
  bool is_intact() const;

 private:
  DeviceMemory& memory_;
  Buffer pages_;
  std::optional<Hash128> hash_;
};

}  // namespace attune
