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
#include "dispatch/agreement/serving_report.h"

namespace attune {

/// A plan made by a dispatcher. It has its own cache lines, because readers write the time of use.
struct alignas(64) CachedPlan {
  std::shared_ptr<const Plan> plan;
  uint64_t bytes = 0;                 ///< PlanTraits::host_bytes and the overhead of keeping it.
  uint64_t device_bytes = 0;          ///< PlanTraits::device_bytes.
  bool drifted = false;               ///< See Hit::drifted.
  uint8_t layout = 0;                 ///< Hit::layout of a default plan.
  std::string default_config;         ///< Candidate of a default plan; else empty.
  std::vector<CommonKernel> kernels;  ///< Those that it has loaded.
  bool is_kept = false;               ///< Found by its name; otherwise destroyed once no thread holds it.
  std::vector<ProblemKey> answers;    ///< Hashes of the problems that it answers or answered. Used under the lock of
                                      ///< PlanService.
  std::atomic<uint64_t> last_use{0};  ///< PlanCache::time() of the last use.

  /// Writes only if a plan was made since the last use, so that repeated calls only read.
  void note_use(uint64_t time) noexcept {
    if (last_use.load(std::memory_order_relaxed) != time) last_use.store(time, std::memory_order_relaxed);
  }
};

/// The plans of a dispatcher, bounded by their bytes on the host and on their device; the least recently used are
/// evicted. Not thread-safe, except for time() and the counts, which any thread may read.
///
/// An evicted plan is first withdrawn from the answers. After a grace period (wait_for_readers()), the lookups that
/// still found it have announced that they hold it (hazard_pointers.h). It is destroyed once no thread holds it: a
/// thread that stalls with a hit keeps that plan alive, and no other. Handles of share() may outlive all of this.
class PlanCache {
 public:
  /// `holder`: number of the dispatcher for protect_plan() and protected_plans().
  PlanCache(uint64_t max_bytes, uint64_t holder) : max_bytes_(max_bytes), holder_(holder) {}

  /// Problem; units of the device, candidate and layouts. Nothing else may distinguish plans.
  using Name = std::pair<std::string, std::string>;
  /// Returns null if there is none. Does not count as a use.
  CachedPlan* find(const Name& name) const;
  /// Takes ownership of a plan. A plan larger than the bound is not kept: it lives until free_unreferenced() finds that
  /// no thread holds it. The pointer is valid until the next call of shrink() or free_unreferenced(), and longer while
  /// a thread holds the plan.
  CachedPlan* insert(const Name& name, std::unique_ptr<Plan> plan, bool drifted, uint8_t layout);

  /// Sets the bound of their memory on the device; none until then. Call it before the first insert().
  void bound_device_bytes(uint64_t max_bytes) noexcept { max_device_bytes_ = max_bytes; }
  bool is_over() const noexcept { return bytes_ > max_bytes_ || device_bytes_ > max_device_bytes_; }
  /// Removes a plan that leaves from the answers.
  using Withdraw = std::function<void(const CachedPlan&)>;
  /// If a bound is exceeded, evicts plans until an eighth of it is free. Calls `withdraw` for each.
  void shrink(const Withdraw& withdraw);
  /// Evicts all plans, like shrink(), at the application's request: no bound counts as reached.
  void evict_all(const Withdraw& withdraw);
  /// Whether plans of this size fill three quarters of a bound.
  bool is_mostly_full(uint64_t bytes, uint64_t device_bytes) const noexcept {
    return bytes > max_bytes_ / 4 * 3 || device_bytes > max_device_bytes_ / 4 * 3;
  }
  /// Whether plans were evicted since the last grace period.
  bool is_grace_due() const noexcept { return !leaving_.empty(); }
  /// Destroys evicted plans that no thread holds; does not wait. `is_grace_over`: wait_for_readers() was called after
  /// shrink() and returned true.
  void free_unreferenced(bool is_grace_over);

  /// Increases with each plan that is made.
  uint64_t time() const noexcept { return time_.load(std::memory_order_relaxed); }
  uint64_t holder() const noexcept { return holder_; }

  /// Bytes of a plan besides its own statement (names, answer, this entry); bytes assumed for a plan that states none.
  static constexpr uint64_t kOverheadBytes = 1536, kUnstatedBytes = 64 * 1024;

  struct Counts {
    std::atomic<uint64_t> plans{0}, bytes{0}, evicted{0};
    std::atomic<uint64_t> limit_reached{0};         ///< Of max_bytes.
    std::atomic<uint64_t> device_limit_reached{0};  ///< Of bound_device_bytes().
  };
  const Counts& counts() const noexcept { return counts_; }

 private:
  using PlanMap = std::map<Name, std::unique_ptr<CachedPlan>>;
  void count() noexcept;
  void evict(PlanMap::iterator one, const Withdraw& withdraw);
  void note_too_large(const CachedPlan& plan) noexcept;

  const uint64_t max_bytes_, holder_;
  PlanMap kept_;
  uint64_t max_device_bytes_ = UINT64_MAX;
  uint64_t bytes_ = 0, bytes_left_ = 0;               ///< Bytes of kept plans, and of the others.
  uint64_t device_bytes_ = 0;                         ///< Of kept plans.
  std::vector<std::unique_ptr<CachedPlan>> leaving_;  ///< A lookup in progress may have found it.
  std::vector<std::unique_ptr<CachedPlan>> left_;     ///< A thread may hold it.
  Counts counts_;
  alignas(64) std::atomic<uint64_t> time_{1};
};

}  // namespace attune
