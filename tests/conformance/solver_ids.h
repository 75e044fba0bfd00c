// SPDX-License-Identifier: MIT
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "solver/registry.h"

namespace attune {

/// Every solver that this build knows, those that are unavailable here too: what a suite over solvers is made for.
inline std::vector<std::string> solver_ids() {
  std::vector<std::string> all;
  for (const SolverEntry& entry : registry().entries()) all.push_back(entry.id);
  return all;
}

/// Of a test of one solver: names of tests hold no dots.
inline std::string test_name_of(const testing::TestParamInfo<std::string>& instance) {
  std::string name = instance.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

}  // namespace attune
