// SPDX-License-Identifier: MIT
#include "compile/triton/triton_compiler.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "compile/elf_file.h"
#include "compile/triton/triton_package.h"
#include "compile/triton/triton_process.h"

namespace attune {
namespace {

constexpr uint64_t kTritonBytes = uint64_t{8} << 30;  // Address space; Python maps 0.3 GB, a large kernel 2 GB.
constexpr Milliseconds kTritonDeadline{60'000};
constexpr int64_t kFirstArchitecture = 80;

/// 90 of `sm_90`; nothing for another architecture.
std::optional<int64_t> triton_architecture(std::string_view arch) {
  constexpr std::string_view kPrefix = "sm_";
  if (!arch.starts_with(kPrefix)) return std::nullopt;
  arch.remove_prefix(kPrefix.size());
  if (arch.empty() || arch.size() > 3 || arch.find_first_not_of("0123456789") != arch.npos) return std::nullopt;
  return parse_int(arch);
}

}  // namespace

std::string TritonCompiler::toolchain() const {
  const TritonPackage package = triton_package();
  return "triton-" + package.version + "-" + package.hash.substr(0, 8);
}

std::string TritonCompiler::notice() const {
  try {
    const std::string version = triton_package().version;
    if (is_tested_triton(version)) return {};
    return fmt::format("Triton {} compiles kernels here, and this version of Attune is tested with 3.6 and 3.9",
                       version);
  } catch (const Error&) {
    return {};  // The solver is unavailable then, with a reason.
  }
}

bool TritonCompiler::targets(std::string_view arch) const {
  return triton_architecture(arch).value_or(0) >= kFirstArchitecture;
}

CompilerLimits TritonCompiler::limits() const { return {.memory_bytes = kTritonBytes, .deadline = kTritonDeadline}; }

/// Lines of the log: `shared_bytes 49152` from TritonProcess, before the report of ptxas.
std::map<std::string, std::string> TritonCompiler::report(const CompilerOutput& output) const {
  std::map<std::string, std::string> found;
  for (const std::string_view line : split(output.log, '\n')) {
    for (const std::string_view name : {"shared_bytes", "num_warps", "scratch_bytes"}) {
      if (line.starts_with(name) && line.substr(name.size(), 1) == " ")
        found.emplace(name, line.substr(name.size() + 1));
    }
  }
  found.merge(ptxas_report(output.log));
  if (const auto bytes = code_bytes(output.binary)) found.emplace("code_bytes", std::to_string(*bytes));
  return found;
}

std::string TritonCompiler::flaw_of(std::string_view file) const {
  return cubin_architecture(file) ? "" : "not a cubin";
}

/// A change of what the script does with a task must raise command_version().
LibraryOutput TritonCompiler::compile(const CompileTask& task) const {
  // Of a thread, because Python ends with the thread that started it.
  thread_local std::optional<TritonProcess> process;
  if (task.entries.size() != 1)
    fail(ErrorCode::invalid_input, "a Triton kernel has one entry, and this task has {}", task.entries.size());
  const TritonPackage package = triton_package();
  if (process && (process->package().python != package.python || !process->is_fit())) process.reset();
  try {
    if (!process) process.emplace(package);
    LibraryOutput output = process->compile(task);
    const auto made_for = output.is_compiled ? cubin_architecture(output.binary) : std::nullopt;
    if (made_for && *made_for != triton_architecture(task.arch))
      throw CompilerLost(fmt::format("Triton compiled for sm_{} instead of {}", *made_for, task.arch));
    return output;
  } catch (const CompilerLost&) {
    process.reset();
    throw;
  }
}

void register_triton_compilers(std::vector<const Compiler*>& compilers);
void register_triton_compilers(std::vector<const Compiler*>& compilers) {
  static const TritonCompiler triton;
  compilers.push_back(&triton);
}

}  // namespace attune
