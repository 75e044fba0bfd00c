// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "attune/capture.h"
#include "attune/dispatcher.h"
#include "attune/error.h"
#include "dispatch/dispatch_log.h"
#include "dispatch/inbox.h"
#include "dispatch/key_codes.h"
#include "dispatch/plan_maker.h"
#include "dispatch/row_index.h"
#include "dispatch/served_map.h"
#include "dispatch/table_sources.h"

namespace attune {

inline constexpr size_t kNumOps = static_cast<size_t>(OpId::fmoe) + 1;

/// What a file looked like when it was read.
struct FileStamp {
  std::filesystem::path file;
  uint64_t inode = 0, bytes = 0;
  int64_t changed_ns = 0;  ///< All 0: it was not there.
  bool operator==(const FileStamp&) const = default;
};

/// The tables of all ops at one time, and what has been answered from them.
struct Snapshot {
  struct Tables {
    std::shared_ptr<const RowIndex> rows;
    std::vector<FileStamp> stamps;
    std::vector<std::string_view> origins;  ///< Of the stamps' files.
    std::vector<std::string> notices;       ///< Of the sources; the rows have theirs.
  };
  std::array<Tables, kNumOps> tables;
  ServedMap served;
};

/// The first row that a lookup meets, without a look at its kernel.
Hit first_row(const Snapshot& now, const GemmKey& key, bool pads_m, const HalfKey& half) noexcept;

/// All of a dispatcher. Readers use `now`, `inbox`, `capture` and count(); what makes plans holds `making`.
struct Dispatcher::State {
  explicit State(DispatcherOptions wanted);
  ~State();

  Hit require(const GemmKey& key);
  std::string explain(const GemmKey& key);
  bool reload();
  std::vector<std::string> notices();
  std::vector<TableInUse> tables();
  DispatchCounts counts() const;
  /// Of one lookup.
  void count(bool missed) noexcept;
  /// Ends the thread, writes what is captured and says what was missed; called once more does nothing new.
  void finish();

  const DispatcherOptions options;
  std::vector<KeyCodes> codes;  ///< By OpId.
  std::unique_ptr<Capture> capture;
  std::atomic<Snapshot*> now{nullptr};
  Inbox inbox;
  std::atomic<bool> is_full{false};  ///< No room for more plans: shapes that are new now stay so.

 private:
  struct Refusal {
    ErrorCode code = ErrorCode::unavailable;
    std::string why;
  };
  /// What a problem is answered with, and what must be compiled for a better answer.
  struct Made {
    Hit hit;
    std::vector<CompileTask> missing;
    std::string why_not;        ///< No plan.
    Refusal refusal;            ///< No plan: what who requires it is told; set by serve().
    std::unique_ptr<Plan> own;  ///< hit.plan, when there was no room to keep it.
  };
  struct Kept {
    std::unique_ptr<Plan> plan;
    bool drifted = false;
  };
  struct alignas(64) Counter {
    std::atomic<uint64_t> calls{0}, misses{0};
  };

  std::unique_ptr<Snapshot> read_tables(const Snapshot* before, bool& changed) const;
  Made make(const Snapshot& tables, const GemmKey& key);
  const Plan* plan_of(const Problem& problem, std::string_view candidate, Made& made, std::string& why_not);
  Made serve(const GemmKey& key);
  void compile(const std::vector<CompileTask>& tasks) const;
  void note(const GemmKey& key, const Hit& hit);
  void want_compiled(const GemmKey& key, const Made& made);
  bool compile_one();
  bool look_again();  ///< At the files that there are places for.
  void work() noexcept;
  void work_on(const Inbox::Posted& posted);
  /// The dispatchers of this process; never freed.
  struct Live {
    std::mutex mutex;
    std::set<State*> all;
    std::atomic<bool> is_forking{false};
  };
  static Live& live();
  static void enlist(State& state);
  static void open_after_fork();
  ProblemKey hash_of(const GemmKey& key) const noexcept;

  const std::filesystem::path cache_;
  const int process_;  ///< Not a child of a fork().
  PlanMaker maker_;
  std::mutex making_;  ///< Of maker_, plans_, of all below to log_, and of swapping `now`.
  std::map<std::pair<std::string, std::string>, Kept> plans_;  ///< By the problem's key and the candidate.
  std::map<std::thread::id, std::unique_ptr<Plan>> own_;       ///< For whose shape there was no room: the last of each.
  std::map<std::pair<uint64_t, uint64_t>, Refusal> refusals_;  ///< By hash, until the tables change.
  std::set<std::pair<uint64_t, uint64_t>> asked_for_;          ///< Shapes whose kernel was compiled or is to be.
  std::vector<GemmKey> wanted_;                                ///< Of those, which still wait.
  std::vector<TablePlaces> places_;                            ///< By OpId, as the environment was.
  DispatchLog log_;
  std::atomic<uint64_t> num_reloads_{0}, num_missed_shapes_{0}, num_shapes_{0}, num_plans_{0};
  mutable std::array<Counter, 64> counters_;
  std::atomic<bool> stop_{false}, is_done_{false};  ///< The thread is to end; it has.
  std::atomic<bool> finished_{false};
  std::thread thread_;
};

}  // namespace attune
