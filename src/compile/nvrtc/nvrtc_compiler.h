// SPDX-License-Identifier: MIT
#pragma once
#include <utility>

#include "compile/compiler.h"

namespace attune {

/// Version of NVRTC: 13.0 as a pair.
using NvrtcVersion = std::pair<int, int>;
/// False for `--minimal`, which a version before 12.4 refuses. It changes no code, so it is omitted then.
bool nvrtc_takes(std::string_view option, NvrtcVersion version);

/// Compiles CUDA C++ to a cubin for one architecture (`sm_90`, or `sm_90a` with that architecture's own instructions),
/// by NVRTC. It needs no GPU. Sources may include the headers installed with the library (`cuda_bf16.h`, `mma.h`).
class NvrtcCompiler final : public LibraryCompiler {
 public:
  std::string_view name() const override { return "nvrtc"; }
  std::string toolchain() const override;
  bool targets(std::string_view arch) const override;
  uint32_t command_version() const override { return 1; }
  CompilerLimits limits() const override;
  /// `registers`, `spills` (bytes stored and loaded), `shared_bytes` of the only or the largest entry, `code_bytes`.
  std::map<std::string, std::string> report(const CompilerOutput& output) const override;
  std::string flaw_of(std::string_view file) const override;
  LibraryOutput compile(const CompileTask& task) const override;
};

}  // namespace attune
