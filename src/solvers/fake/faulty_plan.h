// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <vector>

#include "attune/plan.h"
#include "attune/tensor.h"
#include "device/fake/fake_device.h"
#include "solvers/fake/faults.h"

namespace attune {

/// Wraps `plan` and adds these faults of the steps run and unload. `specs` describe the operands (Op::tensors()); the
/// device must outlive the plan.
std::unique_ptr<Plan> plant(std::vector<PlantedFault> faults, std::unique_ptr<Plan> plan, std::vector<TensorSpec> specs,
                            FakeDevice& device);

}  // namespace attune
