// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>

namespace attune {

/// What a child and each process it makes may use; 0: as much as this process may. Never more than that: a limit above
/// ours is lowered to ours. Core files are never written.
struct ProcessLimits {
  uint64_t address_space_bytes = 0;  ///< Allocations beyond it fail. Not for programs with sanitizers.
  /// Of private writable memory only, without what is just reserved (vast with a GPU's driver). Same failure, same
  /// exception.
  uint64_t data_bytes = 0;
  uint64_t file_bytes = 0;  ///< Of each file; SIGXFSZ beyond it.
  uint64_t open_files = 0;
  std::chrono::seconds cpu{0};  ///< SIGXCPU when used up, SIGKILL a second later; ends what outlives its parent.
};

}  // namespace attune
