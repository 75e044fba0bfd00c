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

/// What a candidate of the fake solver can be made to do wrong, so that tests see what the program makes of it.
/// README.md says what becomes of each. Some look bad and are right: a candidate that does these only is healthy.
enum class Fault : uint8_t {
  segfault,          ///< Touches a page that is not to be touched.
  abort,             ///< std::abort().
  exit0,             ///< std::exit(0), as if all were well.
  loop,              ///< Computes for ever.
  sleep,             ///< Sleeps for ever.
  bomb,              ///< Allocates and touches memory until it gets no more: std::bad_alloc, if it lives to see it.
  garbage,           ///< Writes random bytes to every descriptor from 3 on, and goes on.
  close,             ///< Closes every descriptor from 3 on, and goes on.
  stop,              ///< Stops its process (SIGSTOP).
  double_fork,       ///< Leaves a grandchild that sleeps for 1000 s in a session of its own. Healthy.
  file_limit,        ///< Writes beyond the size that a file may have. Healthy where there is no limit.
  scribble_inputs,   ///< Changes the inputs of a launch.
  scribble_after,    ///< Writes 4 KiB beyond the end of the output.
  wrong_result,      ///< Every element is off by more than its own size.
  nan,               ///< One element is a NaN.
  stack,             ///< Recurses without an end.
  signal_mask,       ///< Blocks all signals of its thread. Healthy.
  chdir,             ///< Changes the working folder to `/`. Healthy.
  throws,            ///< Throws an int.
  huge_result_time,  ///< A launch takes −1 µs of the device's time.
  slow,              ///< Sleeps for a second in every launch. Healthy where the deadline allows that.
  unsupported        ///< Says that the config is not supported: leaves a candidate out of a run.
};
std::string_view name(Fault fault) noexcept;
std::optional<Fault> parse_fault(std::string_view text) noexcept;
/// Done to the operands or the time of a launch: there is none in prepare.
bool needs_launch(Fault fault) noexcept;
/// Right results and times all the same, and no use in doing it twice.
bool is_healthy(Fault fault) noexcept;

/// Where in a candidate's life a fault lies; unload: when its plan is given back.
enum class FaultStep : uint8_t { prepare, run, unload };

struct PlantedFault {
  std::string problem;  ///< Key of the normalised problem; empty: of every problem.
  Config config;
  Fault fault = Fault::segfault;
  FaultStep step = FaultStep::run;
  std::string once_path;  ///< Not empty: a fault of the moment, that happens while there is no such file and makes it.
  uint64_t from_launch = 1;  ///< The first launch of a plan that has it, counted from 1.
  bool operator==(const PlantedFault&) const = default;
};

/// Which candidates have which faults. A value.
class FaultList {
 public:
  FaultList() = default;
  /// A fault a line, in five columns with a tab between: problem key or `*`; config key; fault; `prepare`,
  /// `run` or `unload`; `always`, `once:PATH` or `from:N`. Empty lines and those that start with `#` are passed over.
  /// Throws invalid_input with `file:line`.
  static FaultList parse(std::string_view text, std::string_view file);
  /// Of the file that $ATTUNE_FAKE_FAULTS names; none without. Throws as parse(), and as read_file().
  static FaultList of_environment();

  /// All that a candidate has in a step, in the order of the lines.
  std::vector<PlantedFault> of(const Problem& problem, const Config& config, FaultStep step) const;
  size_t size() const noexcept { return faults_.size(); }

 private:
  std::vector<PlantedFault> faults_;
};

}  // namespace attune
