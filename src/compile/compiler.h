// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/binary.h"

namespace attune {

/// A process that compiles: run in a folder of its own that holds nothing but the task's files.
struct CompileCommand {
  std::vector<std::string> arguments;              ///< arguments[0] is an absolute path.
  std::map<std::string, std::string> environment;  ///< The whole environment of the process.
  std::string output;                              ///< File name in the folder that a success leaves.
};

/// A tool that turns tasks into binaries. It says what to run; the pool runs it behind limits and a deadline, so a
/// compiler that hangs, crashes or eats the memory is an Outcome. A library (nvrtc) is run by a verb of the program.
/// Const after construction; any thread.
class Compiler {
 public:
  virtual ~Compiler() = default;
  virtual std::string_view name() const = 0;
  /// `gcc-12.2.0`: part of the cache's path. Throws unavailable with what to install. The first call asks the tool.
  virtual std::string toolchain() const = 0;
  virtual bool targets(std::string_view arch) const = 0;
  /// Writes the task's source into `folder` and says what to run there. Throws unavailable, io.
  virtual CompileCommand command(const CompileTask& task, const std::filesystem::path& folder) const = 0;
  /// To be raised when what command() adds to a task changes: cached binaries of another number are not used.
  virtual uint32_t command_version() const = 0;
  /// Nothing when the file's content may be what command() makes, else what it is not: `no shared object of 64 bits`.
  virtual std::string flaw_of(std::string_view file) const = 0;
};

/// The compilers of this build. Each sub-folder of src/compile is one.
std::span<const Compiler* const> compilers();
/// Null when there is none of that name.
const Compiler* find_compiler(std::string_view name);

}  // namespace attune
