// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "attune/dispatcher.h"
#include "attune/problem.h"

namespace attune {

struct CachedPlan;
struct LayoutSet;

/// What a problem is answered with.
struct alignas(64) CachedAnswer {
  ProblemKey hash;
  GemmKey key;
  Hit hit;
  const LayoutSet* layouts = nullptr;  ///< Of its weights, packed ahead; null: they are an operand.
  CachedPlan* plan = nullptr;          ///< Of hit.plan.
  uint64_t number = 0;                 ///< In the order in which they were put.
  bool was_served = false;             ///< It had a plan, now or before.
  bool was_missed = false;             ///< No row served it, now or before.
  bool was_predicted = false;          ///< By a predicted row, the last time.
  bool has_left = false;               ///< No answer any more: its plan had to leave; the rest is remembered.
};

/// Answers by problem. Reading takes no lock and may go on while one is put. What another took the place of stays where
/// it is until free_replaced().
class AnswerCache {
 public:
  AnswerCache();
  ~AnswerCache();
  AnswerCache(const AnswerCache&) = delete;
  AnswerCache& operator=(const AnswerCache&) = delete;

  /// Null when there is none. About 5 ns. What it points to is valid under a ReadGuard, or for who puts.
  const CachedAnswer* find(const ProblemKey& hash) const noexcept;
  /// Adds, or takes the place of the one of the same problem. Any thread.
  void put(CachedAnswer served);
  /// An answer with this plan is none any more.
  void withdraw(const ProblemKey& hash, const CachedPlan& plan);
  /// Forgets the older half of the answers without a plan when there are more than so many.
  void bound_without_plan(size_t max);
  /// The ones in force, in no order.
  std::vector<CachedAnswer> all() const;
  size_t size() const;

  /// What lookups that are going on may still see. To be freed when wait_for_readers() has returned true.
  size_t num_replaced() const;
  void free_replaced();

 private:
  /// Open addressing; at most half of the places are taken.
  struct Places {
    explicit Places(size_t size) : mask(size - 1), places(size) {}
    std::atomic<const CachedAnswer*>& of(const ProblemKey& hash) noexcept;
    size_t mask;
    std::vector<std::atomic<const CachedAnswer*>> places;
  };
  void move_to(std::unique_ptr<Places> places);

  std::atomic<Places*> current_;
  mutable std::mutex mutex_;  ///< Of all below.
  std::unique_ptr<Places> owned_;
  size_t size_ = 0, num_without_plan_ = 0;
  uint64_t num_put_ = 0;
  std::vector<std::unique_ptr<Places>> old_places_;
  std::vector<std::unique_ptr<const CachedAnswer>> replaced_;
};

}  // namespace attune
