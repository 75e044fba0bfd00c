// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attune/plan.h"
#include "attune/problem.h"

namespace attune {

/// A plan that a dispatcher has made. On cache lines of its own: readers write down when they used it.
struct alignas(64) CachedPlan {
  std::shared_ptr<const Plan> plan;
  uint64_t bytes = 0;                 ///< PlanTraits::host_bytes and what keeps it.
  bool drifted = false;               ///< As Hit::drifted.
  uint8_t layout = 0;                 ///< As Hit::layout, of an untuned one.
  bool is_kept = false;               ///< Found by its name; else it ends when no thread holds it any more.
  std::vector<ProblemKey> answers;    ///< Hashes of what it is the answer to, and was. For the one who makes plans.
  std::atomic<uint64_t> last_use{0};  ///< PlanCache::time() then.

  /// Writes only when a plan was made since the last time: what is called again and again is only read.
  void note_use(uint64_t time) noexcept {
    if (last_use.load(std::memory_order_relaxed) != time) last_use.store(time, std::memory_order_relaxed);
  }
};

/// The plans of a dispatcher, bounded by the bytes that they hold; the least recently used leave. One thread at a time,
/// but for time() and the counts, which any thread may read.
///
/// A plan that leaves is withdrawn from the answers first. Then a grace period passes (wait_for_readers()), in which
/// the lookups that still found it announce that they hold it (hazard_pointers.h). It ends once no thread does: one
/// that stalls with a hit keeps that plan, and no other. Handles of share() may outlive all of that.
class PlanCache {
 public:
  /// `holder`: names the dispatcher to protect_plan() and protected_plans().
  PlanCache(uint64_t max_bytes, uint64_t holder) : max_bytes_(max_bytes), holder_(holder) {}

  /// Problem and candidate; nothing else may distinguish plans.
  using Name = std::pair<std::string, std::string>;
  /// Null when there is none. Does not count as a use.
  CachedPlan* find(const Name& name) const;
  /// Takes a plan over. One that is larger than the bound is not kept: it lasts until free_unheld() finds that no
  /// thread holds it. The pointer is valid until the next call of shrink() or free_unheld(), unless a thread holds it.
  CachedPlan* insert(const Name& name, std::unique_ptr<Plan> plan, bool drifted, uint8_t layout);

  bool is_over() const noexcept { return bytes_ > max_bytes_; }
  /// Makes plans leave until an eighth of the bound is free; `withdraw` is told each, and takes it from the answers.
  void shrink(const std::function<void(const CachedPlan&)>& withdraw);
  /// Some left since the last grace period.
  bool is_grace_due() const noexcept { return !leaving_.empty(); }
  /// Destroys what has left and is held by no thread; waits for none. `is_grace_over`: wait_for_readers() was called
  /// after shrink() and returned true.
  void free_unheld(bool is_grace_over);

  /// Grows with each plan that is made.
  uint64_t time() const noexcept { return time_.load(std::memory_order_relaxed); }
  uint64_t holder() const noexcept { return holder_; }

  /// What a plan costs beside what it says: its names, its answer, this; and what one holds that does not say.
  static constexpr uint64_t kOverheadBytes = 1536, kUnstatedBytes = 64 * 1024;

  struct Counts {
    std::atomic<uint64_t> plans{0}, bytes{0}, evicted{0}, limit_reached{0};
  };
  const Counts& counts() const noexcept { return counts_; }

 private:
  using PlanMap = std::map<Name, std::unique_ptr<CachedPlan>>;
  void count() noexcept;

  const uint64_t max_bytes_, holder_;
  PlanMap kept_;
  uint64_t bytes_ = 0, bytes_left_ = 0;               ///< Of those that are kept, and of the others.
  std::vector<std::unique_ptr<CachedPlan>> leaving_;  ///< A lookup that goes on may have found it.
  std::vector<std::unique_ptr<CachedPlan>> left_;     ///< A thread may hold it.
  Counts counts_;
  alignas(64) std::atomic<uint64_t> time_{1};
};

}  // namespace attune
