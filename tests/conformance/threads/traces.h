// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <string>

namespace attune {

/// What belongs to the whole process and its application, by name: each variable of the environment with its address,
/// dispositions and masks of signals, affinity masks of all threads, limits, folder, state of rand(), floating-point
/// controls. The calling thread's rand() is started anew.
std::map<std::string, std::string> process_state();

/// The differences between two states, a line each.
std::string differences(const std::map<std::string, std::string>& before,
                        const std::map<std::string, std::string>& after);

}  // namespace attune
