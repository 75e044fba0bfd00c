// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/device_info.h"
#include "core/space/search_space.h"
#include "solvers/jit_cuda/gemm_config.h"

namespace attune::jit_cuda {

/// A reason to exclude a config for a product on a device.
struct GemmRule {
  std::string_view id;
  bool (*allows)(const GemmConfig& config, const GemmShape& shape, const DeviceInfo& device);
  std::string_view reason;
};
std::span<const GemmRule> gemm_rules();
/// The first rule that excludes a config, or one of its values that is not offered; null: it is of the space.
const GemmRule* broken_rule(const GemmConfig& config, const GemmShape& shape, const DeviceInfo& device);

/// All configs of a product that no rule excludes, listed: of a product of parameters one in a thousand would be left.
/// Takes some milliseconds.
SearchSpace gemm_space(const GemmShape& shape, const DeviceInfo& device);
/// Configs that are most often best for such a product, best first; all are of the space, and there is one at least.
std::vector<GemmConfig> gemm_starts(const GemmShape& shape, const DeviceInfo& device);

}  // namespace attune::jit_cuda
