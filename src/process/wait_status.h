// SPDX-License-Identifier: MIT
#pragma once
#include <sys/resource.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "core/outcome.h"
#include "core/turn.h"

namespace attune {

/// How a child process ended. Read once, when it is reaped.
struct WaitStatus {
  /// `protocol`: killed for what it wrote to us. `lost`: somebody else reaped it, or this process ignores SIGCHLD: it
  /// is gone, and nobody knows how it ended.
  enum class End : uint8_t { exited, signalled, deadline, protocol, lost };
  End end = End::exited;
  int code = 0;              ///< Exit status of `exited`, number of the signal of `signalled`.
  Milliseconds deadline{0};  ///< The one that passed, of `deadline`.
  uint64_t peak_bytes = 0;   ///< Largest resident memory of it or of a child it waited for.
  Milliseconds cpu_time{0};  ///< Of it and of the children it waited for.
  bool for_memory = false;   ///< The kernel said so (MemoryCage::killed()); else its size must tell.

  static WaitStatus of(int wait_word, const rusage& usage) noexcept;  ///< What wait4() gives.
  static WaitStatus past(Milliseconds deadline) noexcept;
  static WaitStatus of_lost() noexcept;

  bool ok() const noexcept { return end == End::exited && code == 0; }
  /// `exited with status 3`, `was ended by SIGSEGV (segmentation fault)`, `ran past its deadline of 1.5 s`,
  /// `wrote what is no message`.
  std::string describe() const;
  bool operator==(const WaitStatus&) const = default;
};

/// The outcome a status stands for; `what` starts its sentence: "the compiler".
///   deadline, SIGXCPU → timed_out      SIGKILL of a process that had grown → out_of_memory (the kernel chooses such)
///   any other signal or exit status, a broken protocol → crashed      exit status 0 → ok
Outcome outcome_of(const WaitStatus& status, std::string_view what);

/// The same for a process that was not to end, an answer being due: an exit with any status is crashed.
Outcome outcome_of_death(const WaitStatus& status, std::string_view what);

}  // namespace attune
