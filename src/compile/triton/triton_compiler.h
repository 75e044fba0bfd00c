// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "compile/compiler.h"

namespace attune {

/// Compiles a Triton kernel (Python text with one `@triton.jit` function for each of the task's entries; one entry) to
/// a cubin, by the Python package `triton`. It needs no GPU. The helper starts Python once, with a script of Attune's;
/// the two exchange lines of JSON. Options of a task, in any order; each parameter of the kernel has one, unless it is
/// a `tl.constexpr` with a default:
///   --argument=NAME:TYPE[:N]    a parameter of each launch; TYPE as Triton spells it: `*fp16`, `*bf16`, `*fp32`,
///                               `i32`, `i64`. `:N`, 2 to 16: its value (of a pointer: the address) is a multiple of N.
///   --constant=NAME:VALUE       a `tl.constexpr` parameter, or one that is not passed at a launch; VALUE is an
///                               integer, True, False, None or a text in single quotes.
///   --num-warps=N --num-stages=N    launch it with 32·N threads; buffers of the software pipeline.
///   --maxnreg=N                 at most N registers a thread.
/// The cubin's function takes the arguments in this order, then two pointers, to scratch memory (`scratch_bytes` for
/// each block) and for a profiler; both may be null where `scratch_bytes` is 0. Source: triton/backends/nvidia, 3.6 and
/// 3.9.
class TritonCompiler final : public LibraryCompiler {
 public:
  std::string_view name() const override { return "triton"; }
  /// `triton-3.9.0-<8 hexadecimal digits>`: the package's version and the hash of its list of files, which has a hash
  /// of each. Runs Python, without importing the package. Throws unavailable, naming what to install.
  std::string toolchain() const override;
  std::string notice() const override;
  bool targets(std::string_view arch) const override;
  uint32_t command_version() const override { return 1; }
  CompilerLimits limits() const override;
  /// `registers`, `spills`, `shared_bytes` (that a launch must ask for), `num_warps`, `scratch_bytes`, `code_bytes`.
  std::map<std::string, std::string> report(const CompilerOutput& output) const override;
  std::string flaw_of(std::string_view file) const override;
  LibraryOutput compile(const CompileTask& task) const override;
};

}  // namespace attune
