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
  enum class End : uint8_t { exited, signalled, deadline };
  End end = End::exited;
  int code = 0;              ///< Exit status of `exited`, number of the signal of `signalled`.
  Milliseconds deadline{0};  ///< The one that passed, of `deadline`.
  uint64_t peak_bytes = 0;   ///< Largest resident memory of it or of a child it waited for.
  Milliseconds cpu_time{0};  ///< Of it and of the children it waited for.

  static WaitStatus of(int wait_word, const rusage& usage) noexcept;  ///< What wait4() gives.
  static WaitStatus past(Milliseconds deadline) noexcept;

  bool ok() const noexcept { return end == End::exited && code == 0; }
  /// `exited with status 3`, `was ended by SIGSEGV (segmentation fault)`, `ran past its deadline of 1.5 s`.
  std::string describe() const;
  bool operator==(const WaitStatus&) const = default;
};

/// The outcome a status stands for; `what` starts its sentence: "the compiler".
///   deadline, SIGXCPU → timed_out      SIGKILL of a process that had grown → out_of_memory (the kernel chooses such)
///   any other signal or exit status → crashed      exit status 0 → ok
Outcome outcome_of(const WaitStatus& status, std::string_view what);

}  // namespace attune
