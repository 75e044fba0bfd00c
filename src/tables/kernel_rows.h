// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "attune/problem.h"
#include "core/candidate.h"
#include "formats/csv/table.h"
#include "measure/executor.h"
#include "solver/contender.h"

namespace attune {

/// A row whose kernels are to be built.
struct KernelRow {
  const TableRow* row = nullptr;
  Problem problem;  ///< Normalised.
  std::vector<Contender> contenders;
  Candidate candidate;
};

/// The rows of a table that are of one device.
struct KernelRows {
  std::vector<KernelRow> usable;  ///< Those that some solver could run there.
  struct UnusableRow {
    const TableRow* row = nullptr;
    std::string why;
  };
  std::vector<UnusableRow> unusable;
};
/// Finds the rows of the executor's device, in the order of the table, which must outlive the result. Requires: the
/// executor has nothing under way. A row whose problem or kernel this build does not know is unusable.
KernelRows kernel_rows(const Table& table, Executor& executor);

}  // namespace attune
