// SPDX-License-Identifier: MIT
#pragma once

namespace CLI {
class App;
}

namespace attune {

/// The flag with which a command prints its flags.
inline constexpr const char* kListFlags = "--list-flags";
/// Prints the flags of a command's run as JSON: names, whether a value follows, help. Flags that ask for help, and
/// those that are only refused, are none of a run.
void print_flags(const CLI::App& command);

}  // namespace attune
