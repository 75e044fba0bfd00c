// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/descriptor.h"
#include "base/mutex.h"
#include "core/outcome.h"
#include "core/turn.h"

namespace attune {

/// State shared by the pools of one process. Each recipe is compiled by one of them, and together they run at most as
/// many compilers as one pool. It holds the recipes being compiled and their pools, the ended recipes, and the queue
/// for free places. Thread-safe; nothing is compiled, read or waited for under its lock.
///
/// A place is a slot for one compilation. A free one goes to the pool that has waited longest. A pool may take another
/// one only if each pool before it in the queue still gets one.
///
/// A pool that stops polling must not block the others. While others wait, it is woken if it was not called for
/// `patience`. After another `patience` it forfeits its recipes and places. Its processes run on until it is called;
/// then it needs new places for them.
class SharedCompilations {
 public:
  using Clock = std::chrono::steady_clock;
  /// Whether a pool may begin a compilation.
  enum class Begin : uint8_t {
    ours,       ///< It has the recipe and a place.
    elsewhere,  ///< Another pool compiles the recipe.
    ended,      ///< A pool compiled it, or failed to.
    no_place,   ///< The pool queues for a place.
  };
  /// How a recipe ended.
  struct Ended {
    Outcome outcome;     ///< ok: its binary was in the cache.
    double seconds = 0;  ///< Compiler time.
  };
  class Member;

  /// `jobs`: the number of places; 0: the number of cores this process may use.
  explicit SharedCompilations(uint32_t jobs = 0, Milliseconds patience = Milliseconds(1000));
  SharedCompilations(const SharedCompilations&) = delete;
  SharedCompilations& operator=(const SharedCompilations&) = delete;

  uint32_t num_jobs() const noexcept { return num_jobs_; }

 private:
  /// State of one pool. Guarded by `mutex_`.
  struct Part {
    Descriptor event;  ///< Readable when the pool should look again.
    Clock::time_point called = Clock::now();
    std::optional<Clock::time_point> asked;  ///< When it was woken because it was not called.
    bool waits = false;                      ///< For a place or for another pool's compilation.
    bool was_dropped = false;                ///< Forfeited its recipes and places since its last call.
  };

  Part& join();
  void leave(Part& part) noexcept;
  bool attend(Part& part) noexcept;
  Begin begin(Part& part, const std::string& recipe, bool is_anew);
  bool is_elsewhere(Part& part, const std::string& recipe);
  std::optional<Ended> ended(const std::string& recipe);
  void end(Part& part, const std::string& recipe, const Ended* how);
  void leave_line(Part& part) noexcept;
  void release(Part& part) noexcept;
  std::optional<Clock::time_point> look_after_others(Part& part) noexcept;

  bool has_place(const Part& part) const ATTUNE_REQUIRES(mutex_);
  bool holds_something(const Part& part) const noexcept ATTUNE_REQUIRES(mutex_);
  void take_all(Part& part) noexcept ATTUNE_REQUIRES(mutex_);
  void wake_waiting() noexcept ATTUNE_REQUIRES(mutex_);

  const uint32_t num_jobs_;
  const Milliseconds patience_;
  Mutex mutex_;
  std::list<Part> parts_ ATTUNE_GUARDED_BY(mutex_);
  std::map<std::string, const Part*> compiling_ ATTUNE_GUARDED_BY(mutex_);  ///< Each entry takes a place.
  std::map<std::string, Ended> ended_ ATTUNE_GUARDED_BY(mutex_);
  std::deque<const Part*> line_ ATTUNE_GUARDED_BY(mutex_);  ///< Pools that wait for a place, oldest first.
};

/// One of the pools that share. Belongs to the pool's thread.
class SharedCompilations::Member {
 public:
  /// Throws device when the process has too many open files.
  explicit Member(std::shared_ptr<SharedCompilations> shared);
  /// Releases the pool's recipes and places.
  ~Member() { shared_->leave(part_); }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  uint32_t num_jobs() const noexcept { return shared_->num_jobs(); }
  /// Readable after another pool did something that this one waits for, until attend().
  int descriptor() const noexcept { return part_.event.number(); }
  /// Reports that the pool is called; the pool then looks at everything that it waits for. True: it was not called for
  /// so long that it forfeited its recipes and places.
  bool attend() noexcept { return shared_->attend(part_); }
  /// Takes the recipe and a place. `is_anew`: even if it was compiled before, for a binary that is not in the cache.
  Begin begin(const std::string& recipe, bool is_anew = false) { return shared_->begin(part_, recipe, is_anew); }
  /// Whether another pool compiles the recipe; this one then waits for it.
  bool is_elsewhere(const std::string& recipe) { return shared_->is_elsewhere(part_, recipe); }
  /// How the recipe ended in a pool; nothing if no pool compiled it.
  std::optional<Ended> ended(const std::string& recipe) const { return shared_->ended(recipe); }
  /// Releases recipe and place of a compilation. `how`: its end; null: it was abandoned, and others may try again. A
  /// binary must be in the cache before the call. Does nothing if this pool does not hold the recipe.
  void end(const std::string& recipe, const Ended* how) { shared_->end(part_, recipe, how); }
  /// Withdraws the pool from the queue for a place.
  void leave_line() noexcept { shared_->leave_line(part_); }
  /// Releases all recipes and places, and waits for nothing.
  void release() noexcept { shared_->release(part_); }
  /// If this pool waits: wakes pools that are not called, and makes them forfeit after `patience`. Returns when to look
  /// again.
  std::optional<Clock::time_point> look_after_others() noexcept { return shared_->look_after_others(part_); }

 private:
  std::shared_ptr<SharedCompilations> shared_;
  Part& part_;
};

}  // namespace attune
