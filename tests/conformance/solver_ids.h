// SPDX-License-Identifier: MIT
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "ops/op.h"
#include "solver/registry.h"

namespace attune {

/// Returns the ids of all solvers of this build, including those unavailable on this machine; suites over solvers are
/// instantiated with them.
inline std::vector<std::string> solver_ids() {
  std::vector<std::string> all;
  for (const SolverEntry& entry : registry().entries()) all.push_back(entry.id);
  return all;
}

/// Returns a text for each product that solvers compute, to which sizes are added: ops with an M, N and K, and the
/// types of gemm_a16w16.
inline std::vector<std::string> products() {
  std::vector<std::string> all = {"gemm_a16w16 dtype=fp32", "gemm_a16w16 dtype=bf16"};
  for (const Op* op : ops()) {
    const auto has = [&](std::string_view size) { return find_column(op->family(), size) != nullptr; };
    if (op->name() != "gemm_a16w16" && has("m") && has("n") && has("k")) all.emplace_back(op->name());
  }
  return all;
}

/// Returns a test's name for a solver; test names must not contain dots.
inline std::string test_name_of(const testing::TestParamInfo<std::string>& instance) {
  std::string name = instance.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

}  // namespace attune
