// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/problem.h"
#include "core/config.h"

namespace attune {

/// Faults that a candidate of the fake solver can be given, so that tests see how the program reacts. README.md lists
/// each one's outcome. Some look faulty but are correct: a candidate with only these is healthy.
enum class InjectedFault : uint8_t {
  segfault,          ///< Touches a protected page.
  abort,             ///< std::abort().
  exit0,             ///< std::exit(0), as on success.
  loop,              ///< Computes for ever.
  sleep,             ///< Sleeps for ever.
  bomb,              ///< Allocates and touches memory until allocation fails: std::bad_alloc, if the process survives.
  garbage,           ///< Writes random bytes to every descriptor from 3 on, and continues.
  close,             ///< Closes every descriptor from 3 on, and continues.
  stop,              ///< Stops its process (SIGSTOP).
  double_fork,       ///< Leaves a grandchild that sleeps for 1000 s in a session of its own. Healthy.
  file_limit,        ///< Writes beyond the maximum size of a file. Healthy without such a limit.
  scribble_inputs,   ///< Changes the inputs of a launch.
  scribble_after,    ///< Writes 4 KiB beyond the end of the output.
  wrong_result,      ///< Every element is off by more than its own size.
  nan,               ///< One element is a NaN.
  stack,             ///< Recurses endlessly.
  signal_mask,       ///< Blocks all signals of its thread. Healthy.
  chdir,             ///< Changes the working folder to `/`. Healthy.
  throws,            ///< Throws an int.
  huge_result_time,  ///< A launch takes −1 µs of the device's time.
  by_process,        ///< One element's last bits depend on the process. Correct, and not deterministic.
  by_batch,          ///< The first element of each row depends on M in its last bit. Correct, not batch-invariant.
  unstated,          ///< The plan states no requirement. Healthy.
  fast,              ///< The plan takes 0.7 of its time: with `once`, the luck of one opening. Healthy.
  breaks_device,     ///< The device no longer works after the launch, which itself is right.
  slow,              ///< Sleeps for a second in every launch. Healthy where the deadline allows that.
  unsupported        ///< Reports the config as unsupported: excludes the candidate from a run.
};
std::string_view name(InjectedFault fault) noexcept;
std::optional<InjectedFault> parse_fault(std::string_view text) noexcept;
/// Whether the fault affects the operands or the time of a launch; such faults cannot happen in prepare.
bool needs_launch(InjectedFault fault) noexcept;
/// Whether results and times stay correct, and repeating the fault has no further effect.
bool is_healthy(InjectedFault fault) noexcept;

/// Point in a candidate's life at which a fault happens; unload: when its plan is destroyed.
enum class FaultStep : uint8_t { prepare, run, unload };

struct PlantedFault {
  std::string problem;  ///< Key of the normalised problem; empty: every problem.
  Config config;
  InjectedFault fault = InjectedFault::segfault;
  FaultStep step = FaultStep::run;
  std::string once_path;     ///< If not empty, the fault happens only while this file does not exist, and creates it.
  uint64_t from_launch = 1;  ///< First launch of a plan with the fault, counted from 1.
  bool operator==(const PlantedFault&) const = default;
};

/// The faults of all candidates. A value.
class FaultList {
 public:
  FaultList() = default;
  /// Parses one fault per line, in five columns separated by tabs: problem key or `*`; config key; fault; `prepare`,
  /// `run` or `unload`; `always`, `once:PATH` or `from:N`. Skips empty lines and lines that start with `#`. Throws
  /// invalid_input with `file:line`.
  static FaultList parse(std::string_view text, std::string_view file);
  /// Faults in the file that $ATTUNE_FAKE_FAULTS names; none if it is not set. Throws like parse() and read_file().
  static FaultList of_environment();

  /// All faults of a candidate in a step, in the order of the lines.
  std::vector<PlantedFault> of(const Problem& problem, const Config& config, FaultStep step) const;
  size_t size() const noexcept { return faults_.size(); }

 private:
  std::vector<PlantedFault> faults_;
};

}  // namespace attune
