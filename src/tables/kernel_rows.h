// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "attune/problem.h"
#include "core/candidate.h"
#include "core/device_info.h"
#include "formats/csv/table.h"
#include "solver/contender.h"
#include "tuner/kernels.h"

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
/// Returns every solver's report for a normalised problem on a device; may throw unavailable for a problem that cannot
/// run.
using ContenderQuery = std::function<std::vector<Contender>(const Problem&)>;

/// Finds the rows of a device, in the order of the table, which must outlive the result. A row whose problem
/// this build does not know, or whose kernel cannot serve (row_kernel()), is unusable. A library's row is usable where
/// the device is not here: there is nothing to build for it. Throws what `contenders` throws, except invalid_input and
/// unavailable.
KernelRows kernel_rows(const Table& table, const DeviceInfo& device, const ContenderQuery& contenders);

/// The result of building the kernels of a table's rows.
struct RowKernels {
  size_t num_rows = 0;                    ///< Rows that have generated kernels now.
  std::set<std::filesystem::path> files;  ///< Files of these kernels, which rows may share.
  struct Failure {
    const TableRow* row = nullptr;
    Outcome outcome;
  };
  std::vector<Failure> failures;
};
/// Builds the kernels of requests, one result each, in order (Kernels::build()).
using KernelBuild = std::function<std::vector<Kernels::BuildResult>(std::span<const Kernels::Request> requests)>;

/// Builds the kernels of all usable rows with one call of `build`, and throws what that throws. The rows of libraries
/// need none.
RowKernels build_row_kernels(const KernelRows& rows, const KernelBuild& build);

}  // namespace attune
