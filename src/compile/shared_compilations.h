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

/// What the pools of one process share, so that a recipe is compiled by one of them and their compilers together are no
/// more than one pool's: which recipes are compiled now and by which pool, those that have ended, and whose turn it is
/// when a place is free. Thread-safe; nothing is compiled, read or waited for under its lock.
///
/// A place is that of one compilation. A free one goes to the pool that has waited longest; a pool may take a further
/// one as long as one is left for each pool ahead of it.
///
/// Nobody waits for a pool that nobody calls: while others wait, one that holds something is woken when it was not
/// called for `patience`, and loses its recipes and places after as long again. Its processes run on beside those of
/// the others until it is called, and then has to have places anew.
class SharedCompilations {
 public:
  using Clock = std::chrono::steady_clock;
  /// Whether a pool may begin a compilation.
  enum class Begin : uint8_t {
    ours,       ///< It has the recipe and a place.
    elsewhere,  ///< Another pool compiles the recipe.
    ended,      ///< A pool compiled it, or failed to.
    no_place,   ///< The pool stands in line for one.
  };
  /// How a recipe ended.
  struct Ended {
    Outcome outcome;     ///< ok: its binary was in the cache.
    double seconds = 0;  ///< That its compiler took.
  };
  class Member;

  /// `jobs`: the number of places; 0: that of the cores this process may use.
  explicit SharedCompilations(uint32_t jobs = 0, Milliseconds patience = Milliseconds(1000));
  SharedCompilations(const SharedCompilations&) = delete;
  SharedCompilations& operator=(const SharedCompilations&) = delete;

  uint32_t num_jobs() const noexcept { return num_jobs_; }

 private:
  /// What is known of one pool. Guarded by `mutex_`.
  struct Part {
    Descriptor event;  ///< Readable when the pool is to look again.
    Clock::time_point called = Clock::now();
    std::optional<Clock::time_point> asked;  ///< When it was woken to tell whether it is called at all.
    bool waits = false;                      ///< For a place or for another pool's compilation.
    bool was_dropped = false;                ///< Since its last call.
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
  std::deque<const Part*> line_ ATTUNE_GUARDED_BY(mutex_);  ///< Pools that wait for a place; the oldest is first.
};

/// One pool among those that share. Belongs to the pool's thread.
class SharedCompilations::Member {
 public:
  /// Throws device when the process has too many open files.
  explicit Member(std::shared_ptr<SharedCompilations> shared);
  /// Gives back what the pool holds.
  ~Member() { shared_->leave(part_); }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  uint32_t num_jobs() const noexcept { return shared_->num_jobs(); }
  /// Readable from the moment at which another pool did something that this one waits for, until attend().
  int descriptor() const noexcept { return part_.event.number(); }
  /// Tells that the pool is called; it looks at all that it waits for after this. True: it was not called for so long
  /// that it holds nothing any more.
  bool attend() noexcept { return shared_->attend(part_); }
  /// Takes the recipe and a place. `is_anew`: also if it was compiled before, for a binary that is not in the cache.
  Begin begin(const std::string& recipe, bool is_anew = false) { return shared_->begin(part_, recipe, is_anew); }
  /// Whether another pool compiles the recipe; this one then waits for it.
  bool is_elsewhere(const std::string& recipe) { return shared_->is_elsewhere(part_, recipe); }
  /// How the recipe ended in a pool; nothing if none compiled it.
  std::optional<Ended> ended(const std::string& recipe) const { return shared_->ended(recipe); }
  /// Gives back recipe and place of a compilation that ended so; null: that came to no end of its own, which others may
  /// try again. A binary must be in the cache by now. Does nothing if this pool does not hold the recipe.
  void end(const std::string& recipe, const Ended* how) { shared_->end(part_, recipe, how); }
  /// Tells that the pool wants no place now.
  void leave_line() noexcept { shared_->leave_line(part_); }
  /// Gives back all recipes and places, and waits for nothing.
  void release() noexcept { shared_->release(part_); }
  /// If this pool waits: takes from others what they hold while nobody calls them. Returns when to look again.
  std::optional<Clock::time_point> look_after_others() noexcept { return shared_->look_after_others(part_); }

 private:
  std::shared_ptr<SharedCompilations> shared_;
  Part& part_;
};

}  // namespace attune
