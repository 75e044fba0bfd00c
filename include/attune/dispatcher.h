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

#include "attune/export.h"
#include "attune/plan.h"
#include "attune/problem.h"
#include "attune/tensor.h"
#include "attune/weights.h"

namespace attune {

/// How well a row fits a problem: its own, one of a larger M that the problem can be padded to, one of another M whose
/// kernel cannot be much slower than the best as far as the table's times tell, or none.
enum class Match : uint8_t { exact, padded_fine, padded_coarse, predicted, fallback };
ATTUNE_API std::string_view name(Match match) noexcept;

/// What becomes of a row whose kernel is not in the cache: it is served by the untuned config for ever, until the
/// dispatcher's own thread has compiled it, or the caller waits for that.
enum class CompileMode : uint8_t { never, background, blocking };

/// The answer for one problem. 16 bytes, so that it is returned in registers.
struct Hit {
  /// Ready to run until the calling thread's next call of the dispatcher; Dispatcher::keep() makes it last. Null: none
  /// is made yet, or it had to leave (require() makes one), or no solver takes the problem.
  const Plan* plan = nullptr;
  uint32_t row = 0;  ///< A number that names the row in the tables as they were then; 0: no row.
  Match match = Match::fallback;
  /// Of a predicted match: at most so many percent slower than the best (docs/run_time.md); 255: or more.
  uint8_t regret_percent = 0;
  uint8_t layout = 0;            ///< Of Weights::layouts(), the one that `plan` reads.
  bool is_stand_in : 1 = false;  ///< `plan` stands in for the row's, which is being made.
  bool drifted : 1 = false;      ///< The row's kernel was made by another compiler or driver.
};
static_assert(sizeof(Hit) == 16);

struct DispatcherOptions {
  std::string device = "cpu:0";
  CompileMode compile_mode = CompileMode::background;
  /// Tables in place of those that the environment and the folders name, by op; the first that has a key wins.
  std::map<std::string, std::vector<std::filesystem::path>> tables;
  std::filesystem::path capture;  ///< Folder where the shapes that are called are collected; empty: nowhere.
  std::chrono::milliseconds poll_interval{1000};  ///< At the tables' files; 0: only when reload() is called.
  /// What the plans that are kept hold of the host's memory (PlanTraits::host_bytes and some 1.5 KB each); beyond it
  /// the least recently used leave, and are made anew when they are called for. A plan that is larger alone, and any
  /// with 0, is made at each call of require() and run(), and lasts until the thread's next.
  uint64_t max_plan_bytes = uint64_t{256} << 20;
  bool lookup_only = false;  ///< No plans: hits say match and row.
  /// A prediction with a larger bound is not used; 0: none is.
  double max_regret = 1;
  /// Shapes that no row serves, or only a predicted one, are tuned by `attune online`, a process of its own
  /// (docs/run_time.md, Online tuning); not those of weights packed ahead.
  bool online_tuning = false;
  bool log_hits = false;  ///< ATTUNE_LOG_TUNED_CONFIG: a line for the first hit of each shape.
};

/// How often, since the dispatcher was made.
struct DispatchCounts {
  uint64_t calls = 0, misses = 0;  ///< Lookups, and those that no row served.
  /// Distinct ones; one that was not called while 65,536 others came to be without a plan may count again.
  uint64_t shapes = 0, missed_shapes = 0;
  uint64_t plans = 0, reloads = 0;  ///< Plans that are kept now.
  uint64_t plan_bytes = 0;          ///< Of these, and of those that left while a thread holds their hit.
  uint64_t evicted_plans = 0;       ///< Those that left; one that was too large to be kept at all counts each time.
  uint64_t plan_limit_reached = 0;  ///< How often DispatcherOptions::max_plan_bytes made plans leave.
};

/// A table that lookups go through.
struct TableInUse {
  std::string op;  ///< `gemm_a16w16`
  std::filesystem::path file;
  std::string origin;     ///< `variable` (DispatcherOptions::tables too), `overlay`, `model`, `default`.
  bool is_there = false;  ///< One that a variable names need not be.
};

/// Finds, for each call, the kernel that the tuned tables name, and has it ready. Tables are looked at anew when a file
/// changes; plans are kept up to a bound of bytes. Any thread; lookups take no lock and never wait for a reload or a
/// compiler.
class ATTUNE_API Dispatcher {
 public:
  /// Reads the tables; nothing is opened or compiled before the first shape comes. A wrong table is left out, and said
  /// on standard error. Throws invalid_input for an unknown device.
  explicit Dispatcher(DispatcherOptions options = {});
  ~Dispatcher();
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  /// The process's own, made at the first call from the environment (docs/run_time.md) and never destroyed.
  static Dispatcher& global();

  /// No I/O, no lock, no allocation (but for a thread's first call). A shape that is new is told to the dispatcher's
  /// own thread, which makes its plan: a later call has it.
  /// `weights`: packed ahead, by this dispatcher for this problem at any M (no plan otherwise); only rows in layouts
  /// that they hold are looked at.
  Hit choose(const GemmKey& key, const Weights* weights = nullptr) const noexcept;
  /// The same, but a plan that is missing is made here: that of the row when nothing is to be compiled for it (or
  /// CompileMode::blocking), else the untuned one. Throws invalid_input for a key that is no problem of its op,
  /// unavailable when no solver takes it.
  /// Weights that no library reads but by a kernel that is to be compiled are waited for (but with CompileMode::never);
  /// invalid_input for weights of another problem or dispatcher, and for a key with bpreshuffle without weights.
  Hit require(const GemmKey& key, const Weights* weights = nullptr);
  /// Runs the problem: operands in the order of Op::tensors() (a, b, [bias], c), contiguous and aligned to 16 bytes. No
  /// byte of the output may be an input's (invalid_input); inputs may share theirs.
  /// `stream`: of the device; null on a host, where the work is done when this returns. The workspace is the calling
  /// thread's, kept for its next call. Throws as require(), and device when the library refuses.
  void run(const GemmKey& key, std::span<void* const> operands, void* stream = nullptr);
  /// The same with weights packed ahead: operands without b (a, [bias], c).
  void run(const GemmKey& key, const Weights& weights, std::span<void* const> operands, void* stream = nullptr);
  /// Packs weights (N×K, rows contiguous) once for every M, in the layout that most rows of the key's shape name in the
  /// tables; without such rows in one that a library takes untuned. `plain` is not needed afterwards. About 0.3 s a GB;
  /// in a library's own layout other threads' require(), and a fork(), wait for it. Throws invalid_input for a key that
  /// is no problem of its op, unavailable when no solver here takes packed weights, or no copy is within the limit, or
  /// there is no memory.
  Weights pack_weights(const GemmKey& key, const void* plain, PackOptions options = {});
  /// Runs one candidate, as tables name it (`jit_cpu.gemm@3:bm=4;…`), of a problem in text (`gemm_a16w16 m=4 n=96 k=64
  /// dtype=fp32`). No table is looked at and nothing is counted. A kernel that is not in the cache is compiled first:
  /// the call waits for that, whatever DispatcherOptions::compile_mode says. The plan is kept as others are; a later
  /// call costs about 10 µs more than run(). Throws invalid_input for a wrong text, a number of operands that is not
  /// the problem's, a config outside its space and weights in another layout than plain; unavailable when there is no
  /// such solver, or of another version, when it does not take the problem or its compiler failed (that is remembered
  /// until reload()); device when the library refuses.
  void run_candidate(std::string_view problem, std::string_view candidate, std::span<void* const> operands,
                     void* stream = nullptr);
  /// Makes the plan of this thread's last hit last until the handle ends, which must be before the dispatcher does.
  /// What a handle holds is not counted once it left the dispatcher. Null for a hit without a plan. No lock. Throws
  /// invalid_input for a hit that is not of this thread's last lookup with a plan.
  std::shared_ptr<const Plan> keep(const Hit& hit) const;
  /// What run_candidate() takes, in its order: the shapes and types of a problem's operands, the output last. Throws
  /// invalid_input.
  std::vector<TensorSpec> operands(std::string_view problem) const;

  /// What a lookup does with a problem, step by step, in lines for a person. Reads no file.
  std::string explain(const GemmKey& key) const;
  /// Reads the variables that name tables and looks at the files now; true when something had changed. Returns when
  /// lookups see it.
  bool reload();
  /// What was odd about the tables as they are now: one sentence each.
  std::vector<std::string> notices() const;
  /// By op; those of one in the order of precedence.
  std::vector<TableInUse> tables() const;
  DispatchCounts counts() const;
  /// Ends the dispatcher's own thread, writes what was captured and says what was missed. Lookups and runs go on with
  /// what is there. For the end of a process; the destructor does it, and a second call nothing.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Dispatcher::run_candidate() of the process's own dispatcher.
ATTUNE_API void run(std::string_view problem, std::string_view candidate, std::span<void* const> operands,
                    void* stream = nullptr);

}  // namespace attune
