// SPDX-License-Identifier: MIT
#pragma once
#include "solver/solver.h"

namespace attune {

/// Whether a solver has kernels for packed weights (`bpreshuffle=1`).
enum class WeightForms : uint8_t { plain, plain_or_packed };

/// Common requirements of GEMM on a host: a host device, gemm_a16w16, no scales, a supported form of weights.
Support supports_host_gemm(const Problem& problem, const DeviceInfo& device, WeightForms weights = WeightForms::plain);
/// Like supports_host_gemm(), but also requires fp32 in and out, the type of a BLAS library.
Support supports_host_sgemm(const Problem& problem, const DeviceInfo& device);

/// Value of a config's `threads`. Throws unavailable unless it is between 1 and the device's cores.
int thread_count(const Config& config, const DeviceInfo& device);

}  // namespace attune
