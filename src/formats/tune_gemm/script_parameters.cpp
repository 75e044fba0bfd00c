// SPDX-License-Identifier: MIT
// The parameters of the script's kernels in an entry of its files.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "base/text.h"
#include "formats/tune_gemm/tune_gemm.h"

namespace attune {
namespace {

/// The script's parameters of a kernel; the solver has them by the same names.
constexpr std::string_view kScriptSolver = "triton.gemm";
constexpr std::string_view kScriptParameters[] = {"BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M",
                                                  "SPLIT_K",      "num_warps",    "num_stages"};
constexpr std::string_view kAmdParameters[] = {"waves_per_eu", "matrix_instr_nonkdim", "kpack",
                                               "instruction_sched_variant"};

/// Why a parameter cannot have a value; empty: it can.
std::string flaw_of(std::string_view name, const std::string& text, int64_t k) {
  const auto number = parse_int(text);
  const int64_t least = name == "num_stages" ? 0 : 1;  // 0 on AMD GPUs, until version 3.2 of Triton.
  std::string wanted;
  if (!number || *number < least)
    wanted = fmt::format("a whole number from {}", least);
  else if (name.starts_with("BLOCK_SIZE_") && !std::has_single_bit(static_cast<uint64_t>(*number)))
    wanted = "a power of two";
  else if (name == "SPLIT_K" && *number > k)
    wanted = "at most K";
  return wanted.empty() ? "" : fmt::format("{} must be {}, got '{}'", name, wanted, shown(text));
}

}  // namespace

std::string kernel_flaw_of(const TuneGemmEntry& entry) {
  for (const auto& [name, text] : entry.parameters) {
    if (std::ranges::find(kScriptParameters, name) == std::end(kScriptParameters)) continue;
    if (std::string flaw = flaw_of(name, text, entry.problem.integer("k")); !flaw.empty()) return flaw;
  }
  return {};
}

std::string kernel_of(const TuneGemmEntry& entry) {
  if (!entry.candidate.empty()) return entry.candidate;
  std::vector<std::pair<std::string, Value>> values;
  for (const auto& [name, text] : entry.parameters) {
    const bool is_parameter = std::ranges::find(kScriptParameters, name) != std::end(kScriptParameters);
    const auto number = parse_int(text);
    if (is_parameter && number) values.emplace_back(name, *number);
  }
  if (values.size() != std::size(kScriptParameters)) return {};
  return Candidate{std::string(kScriptSolver), kAnyVersion, Config(std::move(values))}.name();
}

std::vector<std::pair<std::string, std::string>> script_parameters(const Candidate& candidate) {
  std::vector<std::pair<std::string, std::string>> parameters;
  if (candidate.solver != kScriptSolver) return parameters;
  for (const std::string_view name : kScriptParameters) {
    if (candidate.config.has(name)) parameters.emplace_back(name, to_text(candidate.config.at(name)));
  }
  return parameters;
}

bool is_amd_parameter(std::string_view name) noexcept {
  return std::ranges::find(kAmdParameters, name) != std::end(kAmdParameters);
}

}  // namespace attune
