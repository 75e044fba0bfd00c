// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/error.h"
#include "core/binary.h"
#include "core/turn.h"

namespace attune {

/// Limits of one compilation.
struct CompilerLimits {
  uint64_t memory_bytes = 0;  ///< Address space of each process; 0: this process's limit.
  Milliseconds deadline{0};   ///< Must be above 0.
};

/// The output of a successful compilation.
struct CompilerOutput {
  std::string_view log;                 ///< Its printed text, the first MiB.
  std::string_view binary;              ///< Content of CompileCommand::output.
  const std::filesystem::path& folder;  ///< The folder it ran in.
};

/// A compiler process, run in a folder of its own that contains only the task's files.
struct CompileCommand {
  std::vector<std::string> arguments;              ///< arguments[0] is an absolute path.
  std::map<std::string, std::string> environment;  ///< The whole environment of the process.
  std::string output;                              ///< Name of the file in the folder that a successful run leaves.
};

class LibraryCompiler;

/// A tool that turns tasks into binaries. It returns the command; the pool runs it with limits and a deadline, so a
/// compiler that hangs, crashes or exhausts memory is an Outcome. Const after construction; thread-safe.
class Compiler {
 public:
  virtual ~Compiler() = default;
  virtual std::string_view name() const = 0;
  /// `gcc-12.2.0`: part of the cache's path. The first call runs the tool. Throws unavailable, naming what to install.
  virtual std::string toolchain() const = 0;
  virtual bool targets(std::string_view arch) const = 0;
  /// Writes the task's source into `folder` and returns the command to run there. Throws unavailable, io.
  virtual CompileCommand command(const CompileTask& task, const std::filesystem::path& folder) const = 0;
  /// Version of the options that command() adds to a task; cached binaries of another version are not used.
  virtual uint32_t command_version() const = 0;
  /// Limits that suit the tool: one that maps a GPU's driver needs more address space. A library's helper is replaced
  /// when half of the memory is resident.
  virtual CompilerLimits limits() const = 0;
  /// Returns the facts about the kernel that the tool or its output reports, for Binary::metadata: registers, spills,
  /// `code_bytes`. No estimates. Throws invalid_input for a damaged output.
  virtual std::map<std::string, std::string> report(const CompilerOutput&) const { return {}; }
  /// A warning for a user who is about to compile with it, such as an untested version. Empty: no warning. Runs the
  /// tool at most once.
  virtual std::string notice() const { return {}; }
  /// Empty if the file's content may be an output of command(), else a description of the flaw: `not a 64-bit shared
  /// object bits`.
  virtual std::string flaw_of(std::string_view file) const = 0;
  /// The compiler as a library, whose command() is not called; null: it is a command.
  virtual const LibraryCompiler* library() const { return nullptr; }
};

/// Output of a library compiler for a task.
struct LibraryOutput {
  bool is_compiled = false;
  std::string binary;  ///< Set if it is compiled.
  std::string log;     ///< The library's log: `kernel.cu(3): error: …`.
  /// LibraryCompiler::toolchain() in the helper, which sets it; empty for a task that it refused.
  std::string toolchain{};
  /// The failure is deterministic: the compiler would reject the task again. False: the machine may be at fault.
  bool is_rejected = false;
  bool operator==(const LibraryOutput&) const = default;
};

/// Thrown by LibraryCompiler::compile(): the library cannot go on. The helper ends with all processes of its group. The
/// task fails; the next one gets a fresh helper.
class CompilerLost : public Error {
 public:
  explicit CompilerLost(const std::string& why) : Error(ErrorCode::device, why) {}
};

/// A compiler that is a library (nvrtc). Its code runs only in helper processes (`attune compile-worker NAME`), which
/// do one task after another. There it may crash, hang or leak (docs/adr/0018). The functions of Compiler are called in
/// this process.
class LibraryCompiler : public Compiler {
 public:
  const LibraryCompiler* library() const final { return this; }
  CompileCommand command(const CompileTask&, const std::filesystem::path&) const final;
  /// Compiles a task, in a helper, which uses the same thread for all its tasks. Throws CompilerLost; another exception
  /// becomes the log of a task that is not compiled.
  virtual LibraryOutput compile(const CompileTask& task) const = 0;
};

/// Writes a file of a task into its folder. Does not sync, because only the compiler reads it. Throws io.
void write_task_file(const std::filesystem::path& file, std::string_view content);

/// The compilers of this build, each a sub-folder of src/compile, then the registered ones. Fixed at the first call.
std::span<const Compiler* const> compilers();
/// Adds a compiler to this process, for its life. Call it before the first compilers(). Throws invalid_input for a name
/// that another compiler has, and when called too late. Thread-safe.
void register_compiler(const Compiler& compiler);
/// Removes a registered compiler, unless compilers() has been called since. Thread-safe.
void withdraw_compiler(const Compiler& compiler) noexcept;
/// Sets a function that registers compilers from outside this build. The first compilers() calls it once, before the
/// list is fixed; the function must not call compilers().
void set_compiler_loader(void (*load)()) noexcept;
/// Null for an unknown name.
const Compiler* find_compiler(std::string_view name);
/// The toolchain of a compiler on this machine. Empty where the compiler is missing; a kernel from another machine may
/// still be present.
std::string toolchain_if_any(std::string_view compiler);

}  // namespace attune
