// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>

namespace CLI {
class App;
}

namespace attune {

/// Runs the command that the user typed; returns the exit status.
using Action = std::function<int()>;

/// Groups of commands, in the order of the help, which omits the hidden ones.
enum class CommandGroup : uint8_t { tune, inspect, tables, run_time, maintenance, hidden };

/// A command. Every file `<name>_command.cpp` defines a function `Command <name>_command()`, which CMake finds and
/// registers: a new command is a new file. Its options are plain data.
struct Command {
  CommandGroup group;
  const char* name;
  const char* help;  ///< One sentence.
  /// Adds the flags. When the command is parsed, it sets `chosen`, which outlives the app.
  void (*add_flags)(CLI::App& command, Action& chosen);
};

}  // namespace attune
