// SPDX-License-Identifier: MIT
#pragma once
#include "ops/gemm/gemm_shape.h"
#include "solver/solver.h"

namespace attune {

/// Whether a solver has kernels for packed weights (`bpreshuffle=1`).
enum class WeightForms : uint8_t { plain, plain_or_packed };

/// The parts of a GemmEpilogue that a solver computes: `act` every activation, `alpha` and `beta` every factor.
struct EpilogueParts {
  bool act = false, alpha = false, beta = false, out_scale = false;
};
inline constexpr EpilogueParts kWholeEpilogue{.act = true, .alpha = true, .beta = true, .out_scale = true};

/// Whether the parts suffice for a problem's epilogue; the reason names the attribute. Every solver of GEMMs asks this,
/// itself or by the functions below, so that none computes a problem without its epilogue.
Support supports_epilogue(const GemmShape& shape, EpilogueParts parts);

/// Common requirements of GEMM on a host: a host device, gemm_a16w16, no scales of the inputs, a supported form of
/// weights, and of the epilogue.
Support supports_host_gemm(const Problem& problem, const DeviceInfo& device, WeightForms weights = WeightForms::plain,
                           EpilogueParts parts = {});
/// Like supports_host_gemm(), but also requires fp32 in and out, the type of a BLAS library, and no epilogue.
Support supports_host_sgemm(const Problem& problem, const DeviceInfo& device);

/// Value of a config's `threads`. Throws unavailable unless it is between 1 and the device's cores.
int thread_count(const Config& config, const DeviceInfo& device);

}  // namespace attune
