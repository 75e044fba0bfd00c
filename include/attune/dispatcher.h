// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/candidates.h"
#include "attune/dispatch_counts.h"
#include "attune/error.h"
#include "attune/export.h"
#include "attune/gemm.h"
#include "attune/key.h"
#include "attune/match.h"
#include "attune/plan.h"
#include "attune/problem.h"
#include "attune/requirement.h"
#include "attune/tensor.h"
#include "attune/weights.h"
#include "attune/workspace_allocator.h"

namespace attune {

/// How a row whose kernel is not in the cache is served: always by the default config, by the default config until
/// the dispatcher's own thread has compiled the kernel, or after the caller has waited for the compiler.
enum class CompileMode : uint8_t { never, background, blocking };

struct DispatcherOptions {
  /// Id of the device that runs the kernels. Default: `cpu:0`.
  std::string device = "cpu:0";
  /// Thread limit: maximum number of threads that a call on a host runs on; see Dispatcher::set_threads(). Default: 0,
  /// the process's own limit.
  int threads = 0;
  /// How a row whose kernel is not in the cache is served. Default: background.
  CompileMode compile_mode = CompileMode::background;
  /// How long a call on a stream that is being captured waits for the kernel of its row, because a graph keeps what it
  /// captured (CompileMode::background). When a wait ends without it, later calls of that capture do not wait. 0: no
  /// call waits. Default: 30 s.
  std::chrono::milliseconds graph_wait{30'000};
  /// Tables to use in place of those that the environment and the folders name, by op; the first that has a key wins.
  /// Default: none.
  std::map<std::string, std::vector<std::filesystem::path>> tables;
  /// Folder in which the called shapes are collected. Default: empty, shapes are not collected.
  std::filesystem::path capture;
  /// Interval between checks of the tables' files; 0: only reload() checks. Default: 1 s.
  std::chrono::milliseconds poll_interval{1000};
  /// Maximum host memory, in bytes, that kept plans may hold (PlanTraits::host_bytes and about 1.5 KB each). Beyond it
  /// the least recently used are evicted, and made again when they are next called. A plan that alone exceeds the limit
  /// (any plan, if the limit is 0) is made at each call of require() and run(), and is valid until the thread's next
  /// call. Default: 256 MiB. Plans of a device other than the host are bounded by their memory there, too
  /// (PlanTraits::device_bytes): an eighth of the device's.
  uint64_t max_plan_bytes = uint64_t{256} << 20;
  /// If true, no plans are made: hits contain match and row only. Default: false.
  bool lookup_only = false;
  /// Largest bound of a prediction that is used; 0: no prediction is used. Default: 1 (100 %).
  double max_regret = kDefaultMaxRegret;
  /// Requirement that every kernel must keep: only rows that state it serve, and default plans that state it. A shape
  /// for which there is none is unavailable. A row whose kernel is not in the cache is not served by another one
  /// meanwhile: calls wait for the compiler, and with CompileMode::never the row does not serve. With batch_invariant
  /// the rows of a weight serve every M of it, whatever max_regret is. Default: none.
  Requirement require = Requirement::none;
  /// If true, `attune online`, a separate process, tunes shapes that no row, or only a predicted one, serves
  /// (docs/online_tuning.md, Online tuning); shapes of packed weights are excluded. Its rows
  /// state no requirement, so the two exclude each other. Default: false.
  bool online_tuning = false;
  /// Whether online tuning may work on the dispatcher's own device where that is a GPU. If false it takes another one
  /// of equal fingerprint that nobody uses, and is off, which is said once, as long as there is none. Default: false.
  bool shares_device = false;
  /// Where the workspaces of kernels come from on a device with streams. Default: its memory.
  WorkspaceAllocator workspaces;
  /// If true, logs the first hit of each shape and its stand-in, a line each (ATTUNE_LOG_TUNED_CONFIG). Default: false.
  bool log_hits = false;
};

/// A table that lookups use.
struct TableInUse {
  std::string op;  ///< `gemm_a16w16`
  std::filesystem::path file;
  std::string origin;     ///< `variable` (also for DispatcherOptions::tables), `overlay`, `model`, `default`.
  bool is_there = false;  ///< May be false for a file that a variable names.
};

/// Finds, for each call, the kernel that the tuned tables name, and keeps it ready to run. Tables are reloaded when a
/// file changes; plans are kept up to a limit in bytes. Thread-safe; lookups take no lock and never wait for a reload
/// or a compiler.
class ATTUNE_API Dispatcher {
 public:
  /// Reads the tables; nothing is opened or compiled before the first shape. Invalid tables are skipped and reported on
  /// standard error, and so is a thread that the system refuses: the dispatcher serves without it. Throws invalid_input
  /// for an unknown device, and for online tuning under a requirement.
  explicit Dispatcher(DispatcherOptions options = {});
  ~Dispatcher();
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  /// Returns the process's own dispatcher, created at the first call from the environment (docs/variables.md) and never
  /// destroyed.
  static Dispatcher& global();
  /// Returns the process's own dispatcher of a device (`cuda:1`), made like that of global() but for the device, which
  /// need not be ATTUNE_DEVICE. Later calls take no lock. Tables are read once for all devices that are equal. Throws
  /// invalid_input for an unknown device.
  static Dispatcher& global(std::string_view device);

  // Every op is called by its Key, or by the Key of its text. GemmKey is the typed form for matrix products; a call
  // with one converts it, in about 4 ns.

  /// Converts a problem in text, `gemm_a16w16 m=4 n=96 k=64 dtype=fp32`, whose missing attributes get their defaults.
  /// Takes microseconds. Throws invalid_input.
  Key key(std::string_view problem) const;
  /// Looks a problem up. No I/O, no lock, no allocation (except at a thread's first call). The dispatcher's own thread
  /// makes the plan of a new shape; a later call returns it.
  /// `weights`: packed by this dispatcher for this problem at any M (otherwise the hit has no plan); only rows in
  /// layouts that they hold are considered.
  Hit choose(const Key& key, const Weights* weights = nullptr) const noexcept;
  Hit choose(const GemmKey& key, const Weights* weights = nullptr) const noexcept;
  /// Like choose(), but makes a missing plan before it returns: the row's if nothing has to be compiled for it (or with
  /// CompileMode::blocking), else the default one. Throws invalid_input for a key that is not a valid problem of its
  /// op, unavailable when no solver supports it, or none keeps what is required.
  /// If only a kernel that is not yet compiled can read the weights, the call waits for it (except with
  /// CompileMode::never). Throws invalid_input for weights of another problem or dispatcher, and for a key of packed
  /// weights without them.
  Hit require(const Key& key, const Weights* weights = nullptr);
  Hit require(const GemmKey& key, const Weights* weights = nullptr);
  /// Like require(), but the hit has a plan only if it is that of a row. While `stream` is captured the call waits for
  /// the row's kernel as run() does. attune::run() may run it until the thread's next call. Throws invalid_input and
  /// device.
  Hit require_row(const Key& key, void* stream = nullptr);
  Hit require_row(const GemmKey& key, void* stream = nullptr);
  /// Runs the problem. Operands are in the order of operands() (of a product: a, b, [bias], c), contiguous and aligned
  /// to 16 bytes. A wrong number of them, a null pointer, a misaligned one and an output that shares a byte with
  /// another operand are invalid_input; inputs may overlap each other. `stream`: a stream of the device; null on a
  /// host, where the work is done on return. On a host the workspace belongs to the calling thread and is kept for its
  /// next call; on other devices it is the plan's, one for each stream. A stream that is being captured gets the work
  /// in its graph, and the call waits for the kernel of its row (DispatcherOptions::graph_wait; docs/online_tuning.md,
  /// Captured graphs); a kernel that cannot be captured is unavailable there. Returns what served the call. Throws like
  /// require(), and device when the library refuses.
  Hit run(const Key& key, std::span<void* const> operands, void* stream = nullptr);
  Hit run(const GemmKey& key, std::span<void* const> operands, void* stream = nullptr);
  /// Like run(), with packed weights: the operands omit those that are packed (of a product: a, [bias], c).
  Hit run(const Key& key, const Weights& weights, std::span<void* const> operands, void* stream = nullptr);
  Hit run(const GemmKey& key, const Weights& weights, std::span<void* const> operands, void* stream = nullptr);
  /// Packs weights (of a product N×K, rows contiguous), and what else is packed with them, once for every M, in the
  /// layout that most rows of the key's shape name in the tables; without such rows, in one that a library's
  /// default config reads. `plain` is not needed afterwards. Takes about 0.3 s per GB; with a library's own layout,
  /// other threads' require(), and a fork(), wait for it. Throws invalid_input for a key that is not a valid problem of
  /// its op; unavailable when no solver on this machine reads packed weights, no copy fits the limit, or there is no
  /// memory. `plain`: the operands with TensorSpec::is_packed, in the device's memory and in their order; of a product
  /// the weights alone.
  Weights pack_weights(const Key& key, std::span<const void* const> plain, PackOptions options = {});
  Weights pack_weights(const GemmKey& key, const void* plain, PackOptions options = {});
  /// Runs one candidate, named as in tables (`jit_cpu.gemm@3:bm=4;…`) or numbered as candidates() does
  /// (`cublaslt#17`), on a problem given as text (`gemm_a16w16 m=4 n=96 k=64 dtype=fp32`). No table is read and nothing
  /// is counted. A kernel that is not in the cache is compiled first: the call waits, whatever
  /// DispatcherOptions::compile_mode is. The plan is kept like any other; a later call costs about 10 µs more than
  /// run(). Throws invalid_input for a wrong text, a wrong number of operands, a config outside its space and weights
  /// in another layout than plain; unavailable when the solver is missing, has another version or does not support the
  /// problem, or its compiler failed (remembered until reload()), or the candidate does not state what the dispatcher
  /// requires; device when the library refuses.
  void run_candidate(std::string_view problem, std::string_view candidate, std::span<void* const> operands,
                     void* stream = nullptr);
  /// Lists the candidates of a problem given as text, by solver, with their numbers. Nothing is run or compiled; every
  /// solver's library is opened, unless the range names one. A library with a long list takes a second at its first
  /// call for a problem, during which other calls that make a plan wait. Throws invalid_input for a wrong text and
  /// unavailable for a range of a solver that is not there.
  std::vector<SolverCandidates> candidates(std::string_view problem, const CandidateRange& range = {});
  /// Returns a handle that keeps the plan of this thread's last hit alive; it must end before the dispatcher does.
  /// Memory of an evicted plan that a handle holds is not counted. Null for a hit without a plan. No lock. Throws
  /// invalid_input for a hit that is not of this thread's last lookup with a plan.
  std::shared_ptr<const Plan> keep(const Hit& hit) const;
  /// Shapes and types of a problem's operands in the order that run_candidate() expects, the output last. Throws
  /// invalid_input.
  std::vector<TensorSpec> operands(std::string_view problem) const;
  /// Like above, in the order that run() expects; with `weights`, without the operands that they hold.
  std::vector<TensorSpec> operands(const Key& key, const Weights* weights = nullptr) const;

  /// Frees the memory of the device that this holds and can make again, and returns its bytes: for an application that
  /// ran out of memory and tries once more. Plans with their workspaces leave, and the next call of each shape makes
  /// its plan again (compiled kernels stay on disk); on a host also the calling thread's workspace. Shapes that were
  /// refused are tried again. Packed weights stay, and so do tables, opened libraries, and plans that calls in
  /// progress, other threads' last hits, keep() or captured graphs hold. The calling thread's last hit ends. On a
  /// device with streams the call waits for the device; while a stream may be captured it does nothing and returns 0.
  /// Memory of DispatcherOptions::workspaces goes back to that allocator, and
  /// counts. Any thread may call it, but not from within WorkspaceAllocator's functions.
  uint64_t release_memory();

  /// Describes what a lookup does with a problem, step by step, in lines for a person. Reads no file.
  /// Throws invalid_input for a key of no op.
  std::string explain(const Key& key) const;
  std::string explain(const GemmKey& key) const;
  /// Reads the variables that name tables and checks the files now. Returns, once lookups see the changes, whether
  /// anything had changed.
  bool reload();
  /// Sets the thread limit of all later calls, of all threads, and returns it: the least of `threads` (0: no limit of
  /// its own), the cores and the CPU quota of this process, ATTUNE_THREADS, OMP_NUM_THREADS and OMP_THREAD_LIMIT. Rows
  /// for that many threads are served and no others, and no kernel starts more; calls in progress keep their number.
  /// The first call with a limit reads the tables, later ones only change a pointer; the number set last costs a few
  /// nanoseconds. Without effect on a device that is no host. Throws invalid_input for a negative number.
  int set_threads(int threads);
  /// Returns the thread limit; on a device that is no host, its number of units.
  int threads() const noexcept;
  /// Returns DispatcherOptions::require.
  Requirement requirement() const noexcept;
  /// Anomalies in the current tables: one sentence each.
  std::vector<std::string> notices() const;
  /// Tables in use, by op; those of one op in order of precedence.
  std::vector<TableInUse> tables() const;
  DispatchCounts counts() const;
  /// Ends the dispatcher's own thread, writes captured shapes and reports missed ones. Lookups and runs keep working
  /// with the current plans and tables. For the end of a process; the destructor calls it, a second call does nothing.
  void finish();

 private:
  friend class CommonChanges;
  struct State;
  std::unique_ptr<State> state_;
};

/// Calls Dispatcher::candidates() of the process's own dispatcher.
ATTUNE_API std::vector<SolverCandidates> candidates(std::string_view problem, const CandidateRange& range = {});

/// Runs a plan that a dispatcher has made, of require_row() or keep(), as Dispatcher::run() does: on a host with the
/// workspace of the calling thread, on other devices the plan has its own. Nothing is checked of the operands, which
/// are in the order of Dispatcher::operands(), contiguous and aligned to 16 bytes, the output apart from all others.
/// Throws unavailable without memory for a workspace, and device when the library refuses.
ATTUNE_API void run(const Plan& plan, std::span<void* const> operands, void* stream = nullptr);

/// Calls Dispatcher::run_candidate() of the process's own dispatcher.
ATTUNE_API void run(std::string_view problem, std::string_view candidate, std::span<void* const> operands,
                    void* stream = nullptr);

}  // namespace attune
