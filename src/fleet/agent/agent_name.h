// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

namespace attune {

/// The name under which this process holds leases: `host/pid/…`, unique to it.
std::string agent_name();
/// Whether an agent was a process of this machine that has ended. False for agents of other machines and containers,
/// and for other texts. Cheap; thread-safe.
bool is_ended_agent(std::string_view name);

}  // namespace attune
