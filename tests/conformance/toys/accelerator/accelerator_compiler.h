// SPDX-License-Identifier: MIT
#pragma once
#include "compile/compiler.h"

namespace attune::toys {

/// `toyas`: a source `tile N`, where N is a power of two, to a kernel of the toy accelerator, the line `kernel N`.
class AcceleratorCompiler final : public LibraryCompiler {
 public:
  std::string_view name() const override { return "toyas"; }
  std::string toolchain() const override { return "toyas-1"; }
  bool targets(std::string_view arch) const override { return arch.starts_with("toy"); }
  uint32_t command_version() const override { return 1; }
  CompilerLimits limits() const override;
  std::map<std::string, std::string> report(const CompilerOutput& output) const override;
  std::string flaw_of(std::string_view file) const override;
  LibraryOutput compile(const CompileTask& task) const override;
};

}  // namespace attune::toys
