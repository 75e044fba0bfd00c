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

/// One problem to tune. Normalised.
struct WorkItem {
  Problem problem;
  std::optional<Incumbent> incumbent;  ///< The published winner: a finalist, kept when tied.
  bool has_row = false;                ///< A table has a row that can be used: nothing is measured unless `retune`.
};

struct TunerOptions {
  ContestOptions contest;
  StrategyOptions strategy;
  Protocol protocol;
  bool exhaustive = false;  ///< Measure every candidate `warmup` + `iters` times: the oracle.
  uint32_t warmup = 5, iters = 101;
  std::vector<std::string> libraries;  ///< First parts of solver ids (`onednn`); empty: all.
  bool split_k = true;                 ///< False: candidates whose config has split_k > 1 are left out.
  bool retune = false;                 ///< Ignore what the journal knows.
  double budget_s = 0;                 ///< For the whole run; 0: none.
  double problem_timeout_s = 0;        ///< `--timeout`; 0: none.
  double load_deadline_s = 60;         ///< Of preparing a candidate.
  double run_deadline_s = 2;           ///< Of a launch, at least: 50 times the best so far if that is more.
  /// Called once in a run, before the first candidate is run, by the lane that comes first while the others wait; not
  /// when nothing is to be measured. What it takes is charged to no budget.
  std::function<void()> before_measuring;
};

/// How a problem ended.
enum class Ending : uint8_t {
  decided,      ///< A Decision was made now.
  reused,       ///< The journal held one.
  kept,         ///< A table has its row and the journal knows no more.
  refused,      ///< It cannot run here (too large …).
  unsupported,  ///< No solver takes it, or every candidate failed.
  cut,          ///< Budget, --timeout or interrupt before the finals ended: no row.
};
std::string_view name(Ending ending) noexcept;

struct TuneResult {
  Problem problem;
  Ending ending = Ending::unsupported;
  std::string reason;  ///< One sentence unless decided or reused.
  std::optional<Decision> decision;
  size_t num_candidates = 0;
  std::vector<std::pair<Candidate, Outcome>> failures;  ///< Now or in an earlier run.
  double seconds = 0;
  Versions versions;  ///< Of the solvers that took part.
};

/// What a run tells while it goes on. Called on the tuning thread.
class TuneObserver {
 public:
  virtual ~TuneObserver() = default;
  virtual void progress(const Problem& problem, Phase phase, size_t num_alive) = 0;
  /// Once a problem, in the order they end.
  virtual void finished(const TuneResult& result) = 0;
};

/// One device of a run: what does its work, and a journal and kernels of its own (all lanes' journals may be one file,
/// their kernels one cache).
struct TuningLane {
  Executor& executor;
  Journal& journal;
  Kernels* kernels = nullptr;  ///< Null: candidates that need compiled kernels fail.
  std::vector<int> cores;      ///< To which its thread and its compilers keep; empty: anywhere.
};

/// Tunes problems one after another on each device; while one waits for its confirm, the next is begun. All candidates
/// of a problem compete on one device. Announces and records everything in the journal, reuses what is there. Knows no
/// backend, no database, no file.
class Tuner {
 public:
  Tuner(Executor& executor, Journal& journal, TunerOptions options, Clock& clock = steady_clock(),
        Kernels* kernels = nullptr);
  /// Lanes of equal devices. More than one: each has a thread while run() lasts, the observer is called by one at a
  /// time, and the problems of a lane whose device is lost (Error{device}) go to the others.
  Tuner(std::vector<TuningLane> lanes, TunerOptions options, Clock& clock = steady_clock());
  /// Results in the order of the items. `interrupted` ends the run soon: what is decided stays decided. Throws what the
  /// last lane threw, and at once what is no fault of a device.
  std::vector<TuneResult> run(const std::vector<WorkItem>& items, TuneObserver& observer,
                              const std::atomic<bool>& interrupted);

 private:
  std::vector<TuningLane> lanes_;
  TunerOptions options_;
  Clock& clock_;
};

}  // namespace attune
