// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "cli/flags/run_flags.h"

namespace attune {

/// Options of `attune check`, which checks that every row of a table loads, is correct and is as fast as it claims.
struct CheckOptions {
  std::string table;  ///< A CSV table, or YAML results.
  std::string op;
  RunOptions run{.quiet_wait_s = 45};
  bool no_run = false;
  bool verify_only = false;      ///< `--compare_wo_tuning`: checks correctness only.
  double max_slowdown_pct = 10;  ///< Allowed slowdown against the baseline.
  /// Allowed slowdown against the row's own time. Times of different days differ by several percent without a fault.
  double slower_than_pct = 25;
  bool strict = false;  ///< Fails if the speed of a row is unknown, too.
  bool json = false;
  /// `--benchmark`: file for the times of YAML results as CSV, `-`: standard output, which then has nothing else.
  std::string benchmark;
};
/// Returns 0; 1 if a row of this device is wrong or cannot be used (or, when timed, is confirmed slower than the
/// baseline or its own time), or if nothing could be checked.
int run_check(CheckOptions options);

}  // namespace attune
