// SPDX-License-Identifier: MIT
#include "compile/hostcc/host_compiler.h"

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <tuple>

#include "base/error.h"
#include "base/mutex.h"
#include "base/text.h"
#include "base/variable.h"
#include "compile/elf_file.h"
#include "compile/hostcc/toolchain_name.h"
#include "process/run_command.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

constexpr Milliseconds kVersionDeadline{10'000};

fs::path find_program() {
  if (const char* wanted = variable_or_null("ATTUNE_CC")) {
    const bool is_name = std::string_view(wanted).find('/') == std::string_view::npos;
    fs::path file = is_name ? find_on_path(wanted) : fs::absolute(wanted);
    if (file.empty() || !is_runnable_program(file))
      fail(ErrorCode::unavailable, "ATTUNE_CC does not name an executable program, set it to a C compiler: '{}'",
           wanted);
    return file;
  }
  for (const char* name : {"gcc", "cc", "clang"}) {
    if (fs::path file = find_on_path(name); !file.empty()) return file;
  }
  fail(ErrorCode::unavailable, "there is no C compiler on PATH, install gcc (apt-get install gcc) or set ATTUNE_CC");
}

/// LC_ALL=C: compiler_failure parses the errors.
std::map<std::string, std::string> environment_in(const fs::path& temporary) {
  return {{"PATH", program_search_path()}, {"LC_ALL", "C"}, {"TMPDIR", temporary.string()}};
}

std::string ask_version(const fs::path& program) {
  const ChildCommand command{.arguments = {program.string(), "--version"}, .environment = environment_in("/tmp")};
  const CommandResult result = run_command(command, kVersionDeadline);
  const bool may_be_right = result.status.ok() || result.status.end == WaitStatus::End::lost;
  const auto name = may_be_right ? toolchain_name(result.output, program.filename().string()) : std::nullopt;
  if (!name)
    fail(ErrorCode::unavailable, "the C compiler does not report its version (it {}), set ATTUNE_CC to another: '{}'",
         result.status.describe(), program.string());
  return *name;
}

std::string instruction_set() {
  utsname names{};
  const std::string machine = ::uname(&names) == 0 ? names.machine : "unknown";
  return machine == "x86_64" ? "x86-64" : machine;
}

}  // namespace

std::string HostCompiler::toolchain() const {
  // Cached by file and modification time, so that a replaced compiler is asked again. Failures are cached too:
  // otherwise a hanging compiler would delay every task until the deadline.
  struct Version {
    std::string name, failure;
  };
  using Key = std::tuple<std::string, int64_t, int64_t>;
  static Mutex mutex;
  static std::map<Key, Version> known;
  const fs::path program = find_program();
  struct stat status {};
  ::stat(program.c_str(), &status);
  const Key key(program.string(), status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  const Lock lock(mutex);
  auto found = known.find(key);
  if (found == known.end()) {
    Version answer;
    try {
      answer.name = ask_version(program);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unavailable) throw;
      answer.failure = error.what();
    }
    found = known.emplace(key, std::move(answer)).first;
  }
  if (!found->second.failure.empty()) fail(ErrorCode::unavailable, "{}", found->second.failure);
  return found->second.name;
}

bool HostCompiler::targets(std::string_view arch) const {
  static const std::string ours = instruction_set();
  if (!arch.starts_with(ours)) return false;
  const std::string_view rest = arch.substr(ours.size());
  return rest.empty() || rest.front() == '-' || rest.front() == '+';
}

std::map<std::string, std::string> HostCompiler::report(const CompilerOutput& output) const {
  const auto bytes = code_bytes(output.binary);
  if (!bytes) return {};
  return {{"code_bytes", std::to_string(*bytes)}};
}

std::string HostCompiler::flaw_of(std::string_view file) const {
  return is_shared_object(file) ? "" : "not a 64-bit shared object";
}

/// A change of the options below must raise command_version().
CompileCommand HostCompiler::command(const CompileTask& task, const fs::path& folder) const {
  const fs::path program = find_program();
  write_task_file(folder / "kernel.c", task.source);
  CompileCommand command;
  command.output = "kernel.so";
  command.environment = environment_in(folder);
  // -nostdlib: a kernel needs no start-up files and no libc of its own, which would take 6 to 8 ms of about 40. Every
  // process has the libc functions that the compiler calls, and libgcc is linked in. Distributions enable different
  // hardening by default, but a kernel must be identical, and equally fast, under each. Interposition would forbid
  // inlining an entry.
  command.arguments = {program.string(),
                       "-pipe",
                       "-shared",
                       "-fPIC",
                       "-O2",
                       "-w",
                       "-nostdlib",
                       "-fno-semantic-interposition",
                       "-fno-stack-protector",
                       "-fno-stack-clash-protection"};
  if (instruction_set() == "x86-64") command.arguments.push_back("-fcf-protection=none");
  for (const char* file : {"-o", "kernel.so", "-x", "c", "kernel.c"}) command.arguments.push_back(file);
  // After the source: a linker that links libraries only as needed must see the undefined symbols first.
  command.arguments.insert(command.arguments.end(), task.options.begin(), task.options.end());
  command.arguments.push_back("-lgcc");
  return command;
}

void register_hostcc_compilers(std::vector<const Compiler*>& compilers);
void register_hostcc_compilers(std::vector<const Compiler*>& compilers) {
  static const HostCompiler hostcc;
  compilers.push_back(&hostcc);
}

}  // namespace attune
