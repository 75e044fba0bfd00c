// SPDX-License-Identifier: MIT
#pragma once
#include <sys/resource.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "core/outcome.h"
#include "core/turn.h"

namespace attune {

/// How a child process ended; set once, when it is reaped.
struct WaitStatus {
  /// `protocol`: killed because it sent an invalid message. `lost`: another owner reaped it, or this process ignores
  /// SIGCHLD; how it ended is unknown.
  enum class End : uint8_t { exited, signalled, deadline, protocol, lost };
  End end = End::exited;
  int code = 0;              ///< Exit status of `exited`, number of the signal of `signalled`.
  Milliseconds deadline{0};  ///< The deadline that passed, for `deadline`.
  uint64_t peak_bytes = 0;   ///< Largest resident memory of the process or of a child it waited for.
  Milliseconds cpu_time{0};  ///< CPU time of the process and of the children it waited for.
  bool for_memory = false;   ///< The kernel reported it (MemoryCgroup::killed()); if false, outcome_of() decides by
                             ///< peak_bytes.

  static WaitStatus of(int wait_word, const rusage& usage) noexcept;  ///< From the results of wait4().
  static WaitStatus past(Milliseconds deadline) noexcept;
  static WaitStatus of_lost() noexcept;

  bool ok() const noexcept { return end == End::exited && code == 0; }
  /// `exited with status 3`, `was ended by SIGSEGV (segmentation fault)`, `ran past its deadline of 1.5 s`,
  /// `sent an invalid message`.
  std::string describe() const;
  bool operator==(const WaitStatus&) const = default;
};

/// The outcome of a status; `what` starts its sentence: "the compiler".
///   deadline, SIGXCPU → timed_out      SIGKILL of a process that had grown → out_of_memory (the kernel chooses such)
///   any other signal or exit status, a broken protocol → crashed      exit status 0 → ok
Outcome outcome_of(const WaitStatus& status, std::string_view what);

/// Like outcome_of(), for a process that ended while an answer was due: an exit with any status is crashed.
Outcome outcome_of_death(const WaitStatus& status, std::string_view what);

}  // namespace attune
