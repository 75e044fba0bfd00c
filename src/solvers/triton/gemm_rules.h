// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/device_info.h"
#include "core/space/search_space.h"
#include "ops/gemm/gemm_shape.h"

namespace attune::triton {

/// Names of the rule sets, the default first: this program's, and two of Triton's tuning script (versions 3.4 and 2).
inline constexpr std::string_view kAttuneRules = "attune", kScriptRules = "tune_gemm", kScriptV2Rules = "tune_gemm_v2";

/// Whether a device is AMD's, whose compiler has parameters of its own.
inline bool is_amd(const DeviceInfo& device) { return device.kind == "hip"; }

/// The rules without which a config cannot be launched.
std::vector<Rule> launch_rules();
/// The sets, which advise a search. Rules read the parameters, M, N and K; the rest is of the shape's types and the
/// device.
std::vector<RuleSet> rule_sets_of(const GemmShape& shape, const DeviceInfo& device);

}  // namespace attune::triton
