// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tuner/tuner.h"

namespace attune {

/// How far a run of `attune tune` is: what its live line and `attune status` say. Data.
struct RunProgress {
  size_t num_shapes = 0, num_done = 0;
  std::string doing;                       ///< `racing 24 of 64×1152×896 fp32`
  double elapsed_s = 0, budget_s = 0;      ///< budget 0: none.
  double best_ratio = 0;                   ///< Of the decisions so far, over their defaults; 0: none yet.
  std::string best_shape;                  ///< Whose that is.
  std::map<std::string, size_t> failures;  ///< Candidates by status.
  std::string device, table, journal;      ///< For `attune status`.

  /// By the shapes done so far, and no more than the budget leaves; nothing before the first.
  std::optional<double> left_s() const;
  double shapes_a_minute() const;
  /// `about 3 min left, best 1.52× (1×896×4864 fp32), failed: 3 crashed, 1 wrong_result`; may be empty.
  std::string remarks() const;
};

/// A run's progress in a file of the user's state folder, for other terminals: written at most twice a second, removed
/// at the end. A run that cannot write it goes on without.
class ProgressFile {
 public:
  ProgressFile();
  ~ProgressFile();
  ProgressFile(const ProgressFile&) = delete;
  ProgressFile& operator=(const ProgressFile&) = delete;
  void write(const RunProgress& progress);

 private:
  std::filesystem::path file_;
  double written_s_ = 0;
};

/// A run that is going on.
struct RunningRun {
  int64_t pid = 0;
  RunProgress progress;
};
/// Of this user, on this machine. Files of runs that died are removed.
std::vector<RunningRun> running_runs();

}  // namespace attune
