// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>

namespace CLI {
class App;
}

namespace attune {

/// Runs the verb of the command line; returns the exit status.
using Action = std::function<int()>;

/// Groups of verbs, in the order of the help, which omits the hidden ones.
enum class VerbGroup : uint8_t { tune, inspect, tables, run_time, maintenance, hidden };

/// A verb. Every file `<name>_command.cpp` defines a function `Verb <name>_verb()`, which CMake finds and registers:
/// a new verb is a new file. Its options are plain data.
struct Verb {
  VerbGroup group;
  const char* name;
  const char* help;  ///< One sentence.
  /// Adds the flags. When the verb is parsed, it sets `chosen`, which outlives the app.
  void (*add_flags)(CLI::App& verb, Action& chosen);
};

}  // namespace attune
