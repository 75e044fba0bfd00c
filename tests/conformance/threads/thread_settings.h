// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "checked_calls.h"

namespace attune {

/// Makes all calls; once for each process.
using MakeCalls = std::function<std::vector<CheckedCall>()>;

/// What an application or its environment may do so that a parallel region has fewer threads than were asked for.
struct ThreadSetting {
  const char* name;
  std::map<std::string, std::string> environment;  ///< Beyond that of the test.
  /// Makes at least `wanted` calls under the setting, of each two or more; returns the number of wrong elements.
  std::function<uint64_t(const MakeCalls& make, uint64_t wanted)> run;
};

std::span<const ThreadSetting> thread_settings();

/// From here on this process cannot start threads or processes: the kernel answers EAGAIN, as at a limit of processes.
/// Returns false where the system does not allow the filter.
bool forbid_new_threads();

}  // namespace attune
