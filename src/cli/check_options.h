// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace attune {

/// `attune check` as plain data: is every row of a table loaded, right and as fast as it says?
struct CheckOptions {
  std::string table;  ///< CSV, or YAML results.
  std::string op, devices, journal, inputs = "cold";
  bool no_run = false;
  bool verify_only = false;      ///< `--compare_wo_tuning`: correctness, no times.
  double max_slowdown_pct = 10;  ///< Against the default.
  /// Against the row's own time. Another day, another mix: a time differs by several percent with nothing wrong.
  double slower_than_pct = 25;
  double quiet_wait_s = 45, load_deadline_s = 60, run_deadline_s = 60;
  bool json = false;
};
/// 0; 1 when a row of this device is wrong (or, when timed, confirmed slower than the default or than the row says), or
/// when nothing could be checked.
int run_check(const CheckOptions& options);

}  // namespace attune
