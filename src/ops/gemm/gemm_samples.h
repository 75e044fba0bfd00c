// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <string_view>

namespace attune {

/// FamilySpec::samples of `gemm_a16w16`: every type, layout and remainder, below and above the block sizes of kernels.
std::span<const std::string_view> gemm_a16w16_samples();

}  // namespace attune
