// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace CLI {
class App;
}

namespace attune {

/// Returns a clause about the first argument of the parsed command line that neither the program nor its command takes,
/// with the nearest flag or command if one is near: `attune tune has no flag '--bugdet', the nearest is --budget`.
/// Empty: all arguments were taken.
std::string unexpected_argument(const CLI::App& app);

/// Returns a clause about the command that the chosen one needs and did not get: `attune kernels needs one of its
/// commands: list, clear or build`. Empty: it needs none, or has it.
std::string missing_command(const CLI::App& app);

}  // namespace attune
