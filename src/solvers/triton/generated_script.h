// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <string>

#include "attune/problem.h"
#include "solver/solver.h"

namespace attune::triton {

/// A Python script with a function for each config, named as Triton's tuning script names them. It needs PyTorch and
/// Triton, checks each kernel and times it.
KeptScript generated_script(const Problem& problem, std::span<const TimedConfig> configs);

}  // namespace attune::triton
