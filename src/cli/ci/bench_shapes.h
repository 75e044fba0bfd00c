// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "cli/flags/run_flags.h"

namespace attune {

/// Options of `attune bench -i`, which times the shapes of a list or a table as they are served.
struct BenchShapesOptions {
  std::string file, op;
  std::vector<std::string> tables;  ///< Empty: the file, if it is a tuned table, else the tables of the run time.
  uint32_t rounds = 31;
  uint64_t seed = 0;
  bool json = false;
};

/// Returns 0; 1 if a shape could not be timed. An interrupt prints what was timed and returns its status.
int run_bench_shapes(const BenchShapesOptions& options, RunOptions run);

}  // namespace attune
