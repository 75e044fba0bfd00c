// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compile/triton/user_kernel.h"
#include "compile/triton/user_kernel_folder.h"
#include "core/binary.h"
#include "core/device_info.h"
#include "core/space/search_space.h"
#include "ops/gemm/gemm_shape.h"

namespace attune::triton {

/// Name of the config's parameter that names the kernel.
inline constexpr const char* kOwnKernel = "kernel";

/// Why a kernel cannot compute a product; empty: it can. A clause.
std::string why_not_for(const UserKernel& kernel, const GemmShape& shape);

/// The configs of all kernels that can compute a product. Its rule set `attune` leaves a search the `chosen` kernels.
/// Of a kernel without configs of its own, it leaves the configs that suit the product and the GPU.
SearchSpace own_gemm_space(std::span<const StoredKernel> stored, std::span<const std::string> chosen,
                           const GemmShape& shape, const DeviceInfo& device);

/// Whether a config gives a kernel's constants and nothing else.
bool is_config_of(const UserKernel& kernel, const Config& config);

/// The compiler's task of a config. Numbers are i32, i64 where a matrix has 2^31 elements or more; strides of 1 are
/// constants.
CompileTask own_gemm_task(const UserKernel& kernel, const GemmShape& shape, const Config& config,
                          const std::string& arch);

/// How a kernel is launched.
struct OwnLaunch {
  /// An argument: a tensor of GemmRole, or a number.
  struct Argument {
    GemmRole role;
    int64_t number = 0;  ///< Also read as i32: the low bytes come first.
  };
  std::vector<Argument> arguments;               ///< In the cubin's order.
  int64_t num_programs = 0, num_programs_y = 1;  ///< Tiles; parts of K (`SPLIT_K`).
  bool zeroes_c = false;                         ///< `reset_to_zero`: C is zeroed before each launch.
};
OwnLaunch own_gemm_launch(const UserKernel& kernel, const GemmShape& shape, const Config& config);

}  // namespace attune::triton
