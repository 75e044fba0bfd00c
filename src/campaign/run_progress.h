// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attune {

/// Progress of a run of `attune tune`, for its live line and `attune status`. Plain data.
struct RunProgress {
  size_t num_shapes = 0;
  size_t num_decided = 0;                  ///< Now or by an earlier run.
  size_t num_given_up = 0;                 ///< No candidate could serve them.
  size_t num_left = 0;                     ///< Cut, or an unfinished tie: left for the next run.
  size_t num_known = 0;                    ///< Shapes that had a row when the run began: most take no time.
  size_t num_earlier = 0;                  ///< Shapes of num_decided that an earlier run decided.
  std::string doing;                       ///< `racing 24 candidates of 64×1152×896 fp32`
  double elapsed_s = 0, budget_s = 0;      ///< budget_s 0: no budget.
  double best_ratio = 0;                   ///< Best decision so far, relative to its baseline; 0: none yet.
  std::string best_shape;                  ///< Shape of that decision.
  std::map<std::string, size_t> failures;  ///< Number of candidates by status.
  std::string device, table, journal;      ///< For `attune status`.

  /// Shapes that the run is done with, decided or not.
  size_t num_ended() const noexcept { return num_decided + num_given_up + num_left; }
  /// Returns `12 of 34 shapes decided, 2 given up, 1 left for the next run`; omits counts of 0, except the first.
  std::string counts() const;
  /// Estimates the remaining time from the shapes that ended in this run, limited by the budget. Nothing before the
  /// first such shape, and while the only waiting shapes are the ones that had their rows. Shapes that an earlier run
  /// decided take no time, unless their versions are void or their kernel is excluded.
  std::optional<double> left_s() const;
  /// Rate of the shapes that this run decides.
  double shapes_a_minute() const;
  /// Returns remarks such as `about 3 min left, best 1.52× (1×896×4864 fp32), failed: 3 crashed, 1 wrong_result`; may
  /// be empty.
  std::string remarks() const;
};

/// A file in the user's state folder, `runs/<boot>-<pid>.json`, that shows a run's progress to other terminals. It is
/// written at most twice a second and removed at the end. A run that cannot write it continues without it.
class ProgressFile {
 public:
  /// `state`: the state folder; empty: no file is written.
  explicit ProgressFile(const std::filesystem::path& state);
  ~ProgressFile();
  ProgressFile(const ProgressFile&) = delete;
  ProgressFile& operator=(const ProgressFile&) = delete;
  void write(const RunProgress& progress);

 private:
  std::filesystem::path file_;
  double written_s_ = 0;
};

/// A run in progress.
struct RunningRun {
  int64_t pid = 0;
  RunProgress progress;
};
/// Returns a run as a JSON object, with its speed and remaining time.
std::string run_json(const RunningRun& run);
/// Returns the runs on this machine that a state folder shows, by process number, and removes the files of dead runs.
std::vector<RunningRun> running_runs(const std::filesystem::path& state);

}  // namespace attune
