// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>

namespace attune {

/// Resource limits of a child and of each process it makes; 0: this process's limit. A limit above this process's is
/// lowered to it. Core files are never written.
struct ProcessLimits {
  uint64_t address_space_bytes = 0;  ///< Allocations beyond it fail. Not for programs with sanitizers.
  /// Limit on private writable memory only, excluding memory that is merely reserved (huge with a GPU's driver).
  /// Allocations beyond it fail; not for programs with sanitizers.
  uint64_t data_bytes = 0;
  uint64_t file_bytes = 0;  ///< Size of each file; SIGXFSZ beyond it.
  uint64_t open_files = 0;
  std::chrono::seconds cpu{0};  ///< SIGXCPU when it is used up, SIGKILL a second later; also ends processes that
                                ///< outlive their parent.
};

}  // namespace attune
