// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attune/dispatcher.h"
#include "attune/export.h"

namespace attune {

/// What one process tells the others of its group.
struct CommonReport {
  uint64_t state = 0;     ///< Digest of all that answers here depend on.
  bool has_news = false;  ///< Whether `text` says what the last exchanged report did not.
  std::string text;       ///< The report; any transport takes it.
};

struct CommonResult {
  bool changed = false;                  ///< Other rows or kernels serve from now on.
  std::vector<std::string> differences;  ///< What the processes do not agree on: one sentence each.
};

/// Makes the processes of a group, each with a dispatcher, serve every shape alike (docs/adr/0024). While it exists,
/// changed tables and kernels that were compiled wait until all processes have them: what serves changes in apply()
/// alone. No rows serve before the first one. Where a step ends, all processes call report(); if not all states are
/// equal, or one has news, they exchange the texts and each calls apply() with all of them. The calls of a process are
/// not concurrent, and no other thread of it runs a problem meanwhile. Costs a hit nothing. Dispatcher::reload() then
/// only reads; CompileMode::blocking is like background. The dispatcher must outlive it.
class ATTUNE_API CommonChanges {
 public:
  /// Throws invalid_input if the dispatcher has one.
  explicit CommonChanges(Dispatcher& dispatcher);
  /// What waits serves from now on.
  ~CommonChanges();
  CommonChanges(const CommonChanges&) = delete;
  CommonChanges& operator=(const CommonChanges&) = delete;

  /// Does no I/O; takes microseconds for each kernel and each shape that is new.
  CommonReport report();
  /// Applies what the reports of all processes agree on, this one's included; they are in the same order on each, that
  /// of their ranks. What serves then depends on the reports and on nothing else. May make plans, as
  /// Dispatcher::reload() does. Throws invalid_input, before anything changes, for a text that is no report, or of
  /// another version, and for none.
  CommonResult apply(std::span<const std::string> reports);

 private:
  Dispatcher& dispatcher_;
};

}  // namespace attune
