// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "core/device_info.h"
#include "core/record.h"

namespace attune {

/// Name of the protocol among FleetEnvironment::versions. Solvers and libraries have a dot in theirs.
inline constexpr const char* kProtocolComponent = "protocol";

/// What times must share to be comparable: the version of the procedure and Protocol::measured_key(),
/// `race/6 served seed=0 err=0.05 checks=2`.
std::string measuring_protocol(const Protocol& protocol);
/// The protocol of this program's agents on a device. `inputs`: the temperature of the operands, as
/// parse_cache_policy() reads it.
std::string measuring_protocol(const DeviceInfo& device, const std::string& inputs);

/// The temperature of the operands that a session pins; `served` if it was begun before sessions stated a protocol.
std::string pinned_inputs(const Versions& versions);

}  // namespace attune
