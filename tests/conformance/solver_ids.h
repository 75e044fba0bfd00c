// SPDX-License-Identifier: MIT
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "solver/registry.h"

namespace attune {

/// Returns the ids of all solvers of this build, including those unavailable on this machine; suites over solvers are
/// instantiated with them.
inline std::vector<std::string> solver_ids() {
  std::vector<std::string> all;
  for (const SolverEntry& entry : registry().entries()) all.push_back(entry.id);
  return all;
}

/// Returns a test's name for a solver; test names must not contain dots.
inline std::string test_name_of(const testing::TestParamInfo<std::string>& instance) {
  std::string name = instance.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

}  // namespace attune
