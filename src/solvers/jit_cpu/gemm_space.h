// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "core/binary.h"
#include "core/device_info.h"
#include "core/space/search_space.h"
#include "ops/gemm/gemm_op.h"
#include "solvers/jit_cpu/tile_plan.h"

namespace attune::jit_cpu {

/// The configs of one product; README.md explains the parameters. The rules limit registers, caches and work, with
/// thresholds that change smoothly with the sizes.
SearchSpace gemm_space(const GemmShape& shape, const DeviceInfo& device);
/// Configs that serve every M and sum in one order for all: one row of x at a time. It does not depend on M.
SearchSpace gemm_invariant_space(const GemmShape& shape, const DeviceInfo& device);
/// The config that is most often best for such a product; a search starts from it.
Config gemm_start(const GemmShape& shape, const DeviceInfo& device);

/// These functions interpret a config. They throw not_found for a config outside the space.
bool is_dot(const Config& config);
DotSpec dot_spec(const GemmShape& shape, const Config& config, const DeviceInfo& device);
TileLoops tile_loops(const GemmShape& shape, const Config& config, const DeviceInfo& device);
/// Tasks of a config: the kernel's, then the packing's.
std::vector<CompileTask> gemm_tasks(const GemmShape& shape, const Config& config, const DeviceInfo& device);

}  // namespace attune::jit_cpu
