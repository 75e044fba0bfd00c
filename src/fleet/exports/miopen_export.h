// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/find_db/find_db.h"
#include "formats/kernel_db/kernel_db.h"
#include "formats/perf_db/perf_db.h"
#include "store/fleet/fleet_job.h"

namespace attune {

/// `HIP`, `CUDA` or `HOST`, by the kind of a device.
std::string_view miopen_platform(std::string_view kind) noexcept;
/// A time as a find-db has it: 6 significant digits, no exponent.
std::string find_db_time(double us);
/// A config as the parameters of a perf-db: `bk=64,bm=128`. Values have no commas, so a semicolon becomes one.
std::string perf_db_params(const Config& config);
/// `miopenConvolutionFwdAlgoGEMM`, by the direction of a problem and the name of a candidate.
std::string miopen_algorithm(const Problem& problem, const Candidate& candidate);

/// Gathers the results of convolutions for the three files.
class MiopenExport {
 public:
  /// Adds a key with the best candidate of each solver. Throws invalid_input, without a change, for a problem that
  /// MIOpen's keys cannot name, and for one whose key was added before.
  void add(const Problem& problem, const std::vector<ShortListRow>& finalists);
  void add(const FleetKernel& kernel);

  /// v2; sorted, the best four of each key.
  std::string find_db_text();
  /// Configs and rows in the byte order of their keys.
  const PerfDb& perf_db();
  KernelDb kernel_db() const;
  std::string kernel_db_bytes() const { return attune::kernel_db_bytes(kernel_db()); }

  size_t num_keys() const noexcept { return find_db_.records().size(); }
  size_t num_entries() const noexcept { return find_db_.num_entries(); }
  size_t num_rows() const noexcept { return perf_db_.rows.size(); }
  size_t num_kernels() const noexcept { return kernels_.size(); }
  /// Rows left out because another problem has the same config of the perf-db: it does not state the input of a
  /// gradient.
  size_t num_shared_rows() const noexcept { return num_shared_rows_; }

 private:
  FindDb find_db_;
  PerfDb perf_db_{.schema = PerfDb::own_schema(), .configs = {}, .rows = {}};
  std::set<std::string> keys_;
  std::map<std::string, int64_t> configs_;                              // Ids by key of the perf-db.
  std::set<std::pair<int64_t, std::string>> rows_;                      // Of perf_db_, by config and solver.
  std::map<std::pair<std::string, std::string>, std::string> kernels_;  // Bytes by name and arguments.
  size_t num_shared_rows_ = 0;
};

}  // namespace attune
