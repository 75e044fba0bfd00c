// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "device/device_memory.h"
#include "measure/operands/hashed_area.h"

namespace attune {

/// During its life, candidates cannot change some pages of a device unnoticed: a write to them ends the process. Where
/// the memory has no protection, their hash reveals it.
class WriteProtection {
 public:
  /// `content`: `operands`, for the message. Throws Error{device} when the system refuses. The pages must outlive it.
  WriteProtection(DeviceMemory& memory, Buffer pages, std::string_view content);
  ~WriteProtection();
  WriteProtection(const WriteProtection&) = delete;
  WriteProtection& operator=(const WriteProtection&) = delete;

  /// Makes the pages of a part writable for its life. The caller must put the same bytes back before it hashes them.
  class Lift {
   public:
    Lift(const WriteProtection& of, Buffer part);
    ~Lift() { memory_.set_writable(pages_, false); }
    Lift(const Lift&) = delete;
    Lift& operator=(const Lift&) = delete;

   private:
    DeviceMemory& memory_;
    Buffer pages_;
  };

  /// Whether a write ends the process, so no hash is needed.
  bool is_certain() const noexcept { return !hash_; }
  /// Adds the pages if they need a hash.
  void list(std::vector<HashedArea>& areas) const {
    if (hash_) areas.push_back({pages_, *hash_});
  }

 private:
  DeviceMemory& memory_;
  Buffer pages_;
  std::optional<Hash128> hash_;
};

}  // namespace attune
