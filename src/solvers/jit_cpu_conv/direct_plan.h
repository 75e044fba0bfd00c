// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <memory>

#include "attune/plan.h"
#include "ops/conv/conv_shape.h"
#include "solvers/jit_cpu_conv/direct_source.h"

namespace attune::jit_cpu_conv {

/// A plan of a forward 2-D problem of fp32 in NCHW whose groups have at least `spec.channels` channels of the output.
/// `kernel`: the file of direct_task().
std::unique_ptr<Plan> make_direct_plan(const ConvShape& shape, const DirectSpec& spec, int threads,
                                       const std::filesystem::path& kernel);

}  // namespace attune::jit_cpu_conv
