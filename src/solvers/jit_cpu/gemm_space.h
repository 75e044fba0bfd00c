// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "core/binary.h"
#include "core/device_info.h"
#include "core/search_space.h"
#include "ops/gemm/gemm_op.h"
#include "solvers/jit_cpu/tile_plan.h"

namespace attune::jit_cpu {

/// The configs of one product: see README.md for what the parameters mean. The rules bind registers, caches and work,
/// with thresholds that move smoothly with the sizes.
SearchSpace gemm_space(const GemmShape& shape, const DeviceInfo& device);
/// What is right most often for such a product: where a search begins.
Config gemm_start(const GemmShape& shape, const DeviceInfo& device);

/// What a config means. Throws not_found for one that is not of the space.
bool is_dot(const Config& config);
DotSpec dot_spec(const GemmShape& shape, const Config& config, const DeviceInfo& device);
TileLoops tile_loops(const GemmShape& shape, const Config& config, const DeviceInfo& device);
/// The kernel's task, then the packing's.
std::vector<CompileTask> gemm_tasks(const GemmShape& shape, const Config& config, const DeviceInfo& device);

}  // namespace attune::jit_cpu
