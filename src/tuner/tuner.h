// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "core/record.h"
#include "measure/executor.h"
#include "search/contest.h"
#include "search/strategy.h"
#include "store/journal.h"

namespace attune {

class Kernels;

/// One problem to tune; normalised.
struct WorkItem {
  Problem problem;
  std::optional<Incumbent> incumbent;  ///< The published winner: a finalist, preferred when tied.
  bool has_row = false;                ///< True if a table has a usable row: nothing is measured unless `retune`.
};

struct TunerOptions {
  ContestOptions contest;
  StrategyOptions strategy;
  Protocol protocol;
  bool exhaustive = false;  ///< If true, every candidate is measured `warmup` + `iters` times: the oracle.
  uint32_t warmup = 5, iters = 101;
  std::vector<std::string> libraries;  ///< First parts of solver ids (`onednn`); empty: all solvers.
  bool split_k = true;                 ///< If false, candidates whose config has split_k > 1 are excluded.
  bool retune = false;                 ///< If true, results in the journal are ignored.
  double budget_s = 0;                 ///< Time for the whole run; 0: unlimited.
  double problem_timeout_s = 0;        ///< Time per problem, `--timeout`; 0: unlimited.
  double load_deadline_s = 60;         ///< Time allowed to prepare a candidate.
  double run_deadline_s = 2;           ///< Minimum time allowed for a launch; 50 times the best so far if that is more.
  /// Called once per run, before the first candidate is run, by the first lane while the others wait; not called if
  /// nothing is measured. Its duration counts against no budget.
  std::function<void()> before_measuring;
};

/// Result kinds of a problem.
enum class Ending : uint8_t {
  decided,      ///< A Decision was made in this run.
  reused,       ///< The journal had a Decision.
  kept,         ///< A table has its row, and the journal has no newer result.
  refused,      ///< It cannot run on this machine (too large …).
  unsupported,  ///< No solver supports it, or every candidate failed.
  cut,          ///< Budget, --timeout or interrupt before the finals ended: no row.
};
std::string_view name(Ending ending) noexcept;

struct TuneResult {
  Problem problem;
  Ending ending = Ending::unsupported;
  std::string reason;  ///< One sentence; empty if decided or reused.
  std::optional<Decision> decision;
  size_t num_candidates = 0;
  std::vector<std::pair<Candidate, Outcome>> failures;  ///< In this run or an earlier one.
  double seconds = 0;
  Versions versions;  ///< Versions of the solvers that took part.
};

/// Receives the progress of a run. Called on the tuning thread.
class TuneObserver {
 public:
  virtual ~TuneObserver() = default;
  virtual void progress(const Problem& problem, Phase phase, size_t num_alive) = 0;
  /// Called once per problem, in the order in which they end.
  virtual void finished(const TuneResult& result) = 0;
};

/// One device of a run: its executor, and its own journal and kernels (the journals of all lanes may be one file, their
/// kernels one cache).
struct TuningLane {
  Executor& executor;
  Journal& journal;
  Kernels* kernels = nullptr;  ///< Null: candidates that need compiled kernels fail.
  std::vector<int> cores;      ///< Cores for its thread and its compilers; empty: any.
};

/// Tunes problems one after another on each device; while one waits for its confirmation, the next one starts. All
/// candidates of a problem compete on one device. Announces and records everything in the journal and reuses recorded
/// results. Depends on no backend, database or file.
class Tuner {
 public:
  Tuner(Executor& executor, Journal& journal, TunerOptions options, Clock& clock = steady_clock(),
        Kernels* kernels = nullptr);
  /// Lanes must be of equal devices. With more than one, each has a thread during run(), the observer is called by one
  /// thread at a time, and the problems of a lane whose device is lost (Error{device}) go to the others.
  Tuner(std::vector<TuningLane> lanes, TunerOptions options, Clock& clock = steady_clock());
  /// Returns results in the order of the items. `interrupted` ends the run soon; decisions made before stay valid.
  /// Throws the error of the last lane that is lost, and at once any error that is not a device's.
  std::vector<TuneResult> run(const std::vector<WorkItem>& items, TuneObserver& observer,
                              const std::atomic<bool>& interrupted);

 private:
  std::vector<TuningLane> lanes_;
  TunerOptions options_;
  Clock& clock_;
};

}  // namespace attune
