// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "attune/key.h"
#include "attune/match.h"
#include "attune/problem.h"
#include "base/mutex.h"
#include "dispatch/plans/operand_list.h"

namespace attune {

struct CachedPlan;
struct LayoutSet;

/// The answer to a problem. What each lookup reads comes first: of a key of up to 8 values, two cache lines.
struct alignas(64) CachedAnswer {
  ProblemKey hash;
  Hit hit;
  const LayoutSet* layouts = nullptr;  ///< Layouts of the packed weights; null: the weights are a plain operand.
  CachedPlan* plan = nullptr;          ///< The entry that owns hit.plan.
  bool has_left = false;               ///< The plan was evicted; the entry only keeps the history of the problem.
  bool was_served = false;             ///< The problem has a plan, or had one before.
  bool was_missed = false;             ///< No row serves the problem, or none did before.
  bool was_predicted = false;          ///< A predicted row gave the last answer.
  Key key;
  OperandList operands;  ///< What hit.plan reads and writes.
  uint64_t number = 0;   ///< Sequence number of the put().
};
static_assert(offsetof(CachedAnswer, key) == 56);

/// Maps problems to answers. find() takes no lock and may run during a put(). Replaced answers stay allocated until
/// free_replaced().
class AnswerCache {
 public:
  AnswerCache();
  ~AnswerCache();
  AnswerCache(const AnswerCache&) = delete;
  AnswerCache& operator=(const AnswerCache&) = delete;

  /// Returns null if there is no answer. About 5 ns. The returned pointer is valid under a ReadGuard, or in the thread
  /// that calls put().
  const CachedAnswer* find(const ProblemKey& hash) const noexcept;
  /// Adds an answer, or replaces the one of the same problem. Thread-safe.
  void put(CachedAnswer served);
  /// Marks the problem's answer as evicted if it has this plan.
  void withdraw(const ProblemKey& hash, const CachedPlan& plan);
  /// Forgets the older half of the answers without a plan if there are more than `max`.
  void bound_without_plan(size_t max);
  /// Returns the current answers, in no order.
  std::vector<CachedAnswer> all() const;
  size_t size() const;

  /// Number of replaced answers that lookups in progress may still see. free_replaced() requires that
  /// wait_for_readers() has returned true.
  size_t num_replaced() const;
  void free_replaced();

 private:
  /// A hash table with open addressing; at most half of the places are used.
  struct Places {
    explicit Places(size_t size) : mask(size - 1), places(size) {}
    std::atomic<const CachedAnswer*>& of(const ProblemKey& hash) noexcept;
    size_t mask;
    std::vector<std::atomic<const CachedAnswer*>> places;
  };
  void move_to(std::unique_ptr<Places> places) ATTUNE_REQUIRES(mutex_);

  std::atomic<Places*> current_;
  mutable Mutex mutex_;
  std::unique_ptr<Places> owned_ ATTUNE_GUARDED_BY(mutex_);
  size_t size_ ATTUNE_GUARDED_BY(mutex_) = 0, num_without_plan_ ATTUNE_GUARDED_BY(mutex_) = 0;
  uint64_t num_put_ ATTUNE_GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<Places>> old_places_ ATTUNE_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<const CachedAnswer>> replaced_ ATTUNE_GUARDED_BY(mutex_);
};

}  // namespace attune
