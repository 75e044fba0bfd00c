// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

namespace attune {

/// The command line of this program for one of the older tool, both without their programs' names:
/// `go_fish --local_machine --session_id 1 --fin_steps miopen_perf_compile` → `fleet run --session 1 --steps
/// perf_compile`. Throws invalid_input, with the reason, for a flag or command that has no meaning here.
std::vector<std::string> arguments_of_tuna(std::vector<std::string> arguments);

}  // namespace attune
