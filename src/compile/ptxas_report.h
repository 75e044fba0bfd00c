// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <string>
#include <string_view>

namespace attune {

/// The facts in the report of NVIDIA's assembler (`ptxas -v`): `registers`, `spills` (bytes stored and loaded) and
/// `shared_bytes` (static), of the only or the largest kernel. A fact that the report lacks is left out.
std::map<std::string, std::string> ptxas_report(std::string_view log);

}  // namespace attune
