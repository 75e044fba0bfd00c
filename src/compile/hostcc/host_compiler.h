// SPDX-License-Identifier: MIT
#pragma once
#include "compile/compiler.h"

namespace attune {

/// `hostcc`: the C compiler of this machine, for kernels of the host: $ATTUNE_CC (a path, or a name on PATH), else the
/// first of gcc, cc and clang on PATH. The variables are read at each call. A source is one file of C without library
/// headers. It may call only libc (which every process has) and the compiler's own support functions.
class HostCompiler : public Compiler {
 public:
  std::string_view name() const override { return "hostcc"; }
  std::string toolchain() const override;
  /// Any architecture with this machine's instruction set: the task's options select the extensions that a kernel uses.
  bool targets(std::string_view arch) const override;
  CompileCommand command(const CompileTask& task, const std::filesystem::path& folder) const override;
  uint32_t command_version() const override { return 1; }
  CompilerLimits limits() const override {
    return {.memory_bytes = uint64_t{4} << 30, .deadline = Milliseconds(60'000)};
  }
  /// `code_bytes`: bytes of machine code. The command asks for no other report.
  std::map<std::string, std::string> report(const CompilerOutput& output) const override;
  std::string flaw_of(std::string_view file) const override;
};

}  // namespace attune
