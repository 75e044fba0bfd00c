// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"
#include "device/cuda/cuda_info.h"
#include "device/cuda/loaded_kernels.h"
#include "solver/host_gemm.h"

namespace attune::triton {

inline constexpr const char* kCompiler = "triton";
inline constexpr int kLeastCapability = 80;           // Of the package's releases that are supported.
inline constexpr int64_t kMaxExtent = 1 << 29;        // Of M, N and K: kernels count in 32 bits.
inline constexpr size_t kMaxArguments = 64;           // Of a launch.
inline constexpr uint64_t kWorkspaceAlignment = 256;  // Bytes.

/// What every Triton GEMM of this folder asks of a problem and an NVIDIA GPU.
inline Support supports_gemm(const Problem& problem, const DeviceInfo& device) {
  if (device.kind == "cuda" && compute_capability(device.gfx) < kLeastCapability)
    return Support::no("needs compute capability 8.0 or later");
  if (problem.op() != "gemm_a16w16") return Support::no("computes gemm_a16w16 only");
  if (problem.integer_or("scale_ab", 0)) return Support::no("does not support scales");
  const auto shape = GemmShape::of(problem);
  if (shape.packed) return Support::no("does not support packed weights");
  if (std::max({shape.m, shape.n, shape.k}) > kMaxExtent) return Support::no("counts in 32 bits");
  return supports_epilogue(shape, {});
}

/// A number that the compiler reports about a kernel. Throws unavailable for a binary without it.
inline uint32_t reported(const Binary& binary, const char* fact) {
  const auto found = binary.metadata.find(fact);
  uint32_t value = 0;
  const std::string text = found == binary.metadata.end() ? "" : found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    fail(ErrorCode::unavailable, "the kernel's file does not state {}, remove it so that it is compiled again: {}",
         fact, binary.file.string());
  return value;
}

/// A kernel and how each of its programs is launched.
struct LaunchedKernel {
  /// Throws unavailable for a kernel that needs scratch memory, and like LoadedKernels::load().
  LaunchedKernel(LoadedKernels& kernels, const Binary& binary, const char* entry) {
    if (reported(binary, "scratch_bytes") != 0)
      fail(ErrorCode::unavailable, "the kernel needs scratch memory, which these kernels do not use: {}",
           binary.file.string());
    grid.threads = 32 * reported(binary, "num_warps");
    grid.shared_bytes = reported(binary, "shared_bytes");
    kernel = kernels.load(binary, entry, grid.shared_bytes);
  }
  /// `arguments`: as the kernel's text names them, at most kMaxArguments; two pointers follow, to scratch memory and
  /// for a profiler.
  void enqueue(int64_t num_programs, int64_t num_programs_y, std::span<void* const> arguments, CUstream stream) const {
    void* none = nullptr;
    std::array<void*, kMaxArguments + 2> all;
    std::ranges::copy(arguments, all.begin());
    all[arguments.size()] = all[arguments.size() + 1] = &none;
    LaunchGrid launched = grid;
    launched.blocks = static_cast<uint32_t>(num_programs);
    kernel->module.enqueue(kernel->entry, launched, std::span(all).first(arguments.size() + 2), stream,
                           static_cast<uint32_t>(num_programs_y));
  }

  std::shared_ptr<const LoadedKernel> kernel;
  LaunchGrid grid;
};

}  // namespace attune::triton
