// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/config.h"
#include "core/turn.h"

namespace attune {

/// A user's Triton GEMM: the text of its file, and what launching it needs. A value.
struct UserKernel {
  struct Parameter {
    std::string name;
    bool is_constexpr = false;
    bool has_default = false;
    std::optional<int64_t> default_number;  ///< The default, if it is an integer.
    bool operator==(const Parameter&) const = default;
  };
  std::string function;               ///< Of Python: `matmul_kernel`.
  std::string source;                 ///< The whole file, in UTF-8.
  std::vector<Parameter> parameters;  ///< In the function's order.
  bool is_autotuned = false;          ///< It has `@triton.autotune`, whose configs are below.
  std::vector<Config> configs;        ///< Constants by name, num_warps, num_stages, and maxnreg where it is set.
  std::vector<std::string> reset_to_zero, restore_value;  ///< Names of parameters.

  /// `matmul_kernel-0123456789abcdef`: the function, and the hash of everything here.
  std::string name() const;
  const Parameter* find(std::string_view parameter) const noexcept;  ///< Null: it has none of this name.
  std::string to_json() const;
  static UserKernel from_json(std::string_view text);  ///< Throws invalid_input.
  bool operator==(const UserKernel&) const = default;
};

/// What a parameter of a GEMM kernel is, by its name. `constant`: a constexpr whose value a config or a default gives.
enum class GemmRole : uint8_t {
  a,
  b,
  c,
  bias,
  m,
  n,
  k,
  stride_am,
  stride_ak,
  stride_bk,
  stride_bn,
  stride_cm,
  stride_cn,
  block_m,
  block_n,
  block_k,
  group_m,
  split_k,
  num_warps,
  num_stages,
  has_bias,
  constant
};

/// The role of a name: case does not count, `_ptr` may follow a tensor's, and `stride_a_m` is `stride_am`. Tiles are
/// `BLOCK_SIZE_M`, `BLOCK_M` or `BM`, the group is `GROUP_SIZE_M` or `GROUP_M`.
GemmRole gemm_role(std::string_view parameter);
/// The first parameter with a role; null if no parameter has it.
const UserKernel::Parameter* find_role(const UserKernel& kernel, GemmRole role);

/// Throws invalid_input with a sentence unless the kernel can be launched as a GEMM: each parameter has a role or a
/// value, A, B and C and the tile's rows and columns are there, and only C is reset or restored.
void check_gemm_kernel(const UserKernel& kernel);

inline constexpr Milliseconds kDescribeDeadline{60'000};  ///< Importing PyTorch from a cold disk takes 20 s.

/// Describes the kernel that `FILE:FUNCTION` names. Runs the file once, by the Python of triton_package(), in a folder
/// that has no other file. Throws invalid_input for a file or function that cannot be used, unavailable like
/// triton_package().
UserKernel describe_user_kernel(std::string_view file_and_function, Milliseconds deadline = kDescribeDeadline);

}  // namespace attune
