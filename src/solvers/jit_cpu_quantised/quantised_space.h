// SPDX-License-Identifier: MIT
#pragma once
#include "core/device_info.h"
#include "core/space/search_space.h"
#include "ops/quantised_gemm/quantised_gemm.h"
#include "solvers/jit_cpu_quantised/product_plan.h"

namespace attune::jit_cpu_quantised {

/// The configs of one product; README.md explains the parameters. Rules bound the registers and drop configs that are
/// slow for this M.
SearchSpace quantised_space(const QuantisedGemm& shape, const DeviceInfo& device);
/// Those configs that do not depend on M; every config serves every M with the same bits.
SearchSpace quantised_invariant_space(const QuantisedGemm& shape, const DeviceInfo& device);
/// The config that is most often best for such a product; a search starts from it.
Config quantised_start(const QuantisedGemm& shape, const DeviceInfo& device);

/// Interprets a config. Throws not_found for a config outside the space.
ProductLoops product_loops(const QuantisedGemm& shape, const Config& config, const DeviceInfo& device);

}  // namespace attune::jit_cpu_quantised
