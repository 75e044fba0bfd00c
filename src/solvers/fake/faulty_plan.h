// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <vector>

#include "attune/plan.h"
#include "attune/tensor.h"
#include "device/fake/fake_device.h"
#include "solvers/fake/faults.h"

namespace attune {

/// A plan that does what `plan` does, and these faults of steps run and unload. `specs` are the operands'
/// (Op::tensors()); the device outlives the plan.
std::unique_ptr<Plan> plant(std::vector<PlantedFault> faults, std::unique_ptr<Plan> plan, std::vector<TensorSpec> specs,
                            FakeDevice& device);

}  // namespace attune
