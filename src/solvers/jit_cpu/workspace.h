// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

namespace attune::jit_cpu {

/// Lays out parts of a workspace one after another, each starting at a cache line.
class WorkspaceLayout {
 public:
  /// Adds a part of `count` elements; returns its offset in bytes.
  template <typename Element>
  uint64_t add(int64_t count) {
    const uint64_t offset = bytes_;
    bytes_ += (static_cast<uint64_t>(count) * sizeof(Element) + kLine - 1) / kLine * kLine;
    return offset;
  }
  uint64_t bytes() const noexcept { return bytes_; }

 private:
  static constexpr uint64_t kLine = 64;
  uint64_t bytes_ = 0;
};

template <typename Element>
Element* at(void* workspace, uint64_t offset) {
  return reinterpret_cast<Element*>(static_cast<std::byte*>(workspace) + offset);
}

}  // namespace attune::jit_cpu
