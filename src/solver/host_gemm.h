// SPDX-License-Identifier: MIT
#pragma once
#include "solver/solver.h"

namespace attune {

/// Whether a solver has kernels for weights that were packed ahead (`bpreshuffle=1`).
enum class WeightForms : uint8_t { plain, plain_or_packed };

/// What every GEMM on a host asks of a problem: a host device, gemm_a16w16, no scales, weights it can take.
Support supports_host_gemm(const Problem& problem, const DeviceInfo& device, WeightForms weights = WeightForms::plain);
/// The same, and fp32 in and out: what a BLAS library computes.
Support supports_host_sgemm(const Problem& problem, const DeviceInfo& device);

/// `threads` of a config. Throws unavailable unless it is 1 to the device's cores.
int thread_count(const Config& config, const DeviceInfo& device);

}  // namespace attune
