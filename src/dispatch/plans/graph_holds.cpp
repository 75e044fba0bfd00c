// SPDX-License-Identifier: MIT
#include "dispatch/plans/graph_holds.h"

#include <atomic>
#include <list>
#include <mutex>
#include <utility>

namespace attune {
namespace {

using Objects = std::list<std::shared_ptr<void>>;

/// What the graphs of closed dispatchers hold.
Objects& never_freed() {
  static Objects& all = *new Objects;
  return all;
}

}  // namespace

struct GraphHolds::Lists {
  std::mutex mutex;
  Objects held, ended;
  std::atomic<uint64_t> num_held{0};
  bool is_closed = false;

  /// A graph has ended. Allocates nothing and calls no device.
  void end(Objects::iterator object) noexcept {
    const std::lock_guard lock(mutex);
    if (is_closed) return;
    ended.splice(ended.end(), held, object);
    --num_held;
  }
};

GraphHolds::GraphHolds() : lists_(std::make_shared<Lists>()) {}

GraphHolds::~GraphHolds() {
  free_ended();
  static std::mutex of_never_freed;
  const std::scoped_lock lock(lists_->mutex, of_never_freed);
  lists_->is_closed = true;
  never_freed().splice(never_freed().end(), lists_->held);
}

void GraphHolds::hold(CallerStreams& streams, void* stream, std::shared_ptr<void> object) {
  Objects::iterator kept;
  {
    const std::lock_guard lock(lists_->mutex);
    kept = lists_->held.insert(lists_->held.end(), std::move(object));
    ++lists_->num_held;
  }
  const auto is_for_ever = std::make_shared<bool>(false);
  std::shared_ptr<void> graph_lives(nullptr, [lists = lists_, kept, is_for_ever](void*) {
    if (!*is_for_ever) lists->end(kept);
  });
  // The device may have dropped it before it returns, so another owner keeps it until the answer is known.
  *is_for_ever = !streams.keep_with_graph(stream, graph_lives);
}

void GraphHolds::free_ended() {
  Objects ended;  // They end without the lock.
  {
    const std::lock_guard lock(lists_->mutex);
    ended.swap(lists_->ended);
  }
}

uint64_t GraphHolds::num_held() const noexcept { return lists_->num_held.load(std::memory_order_relaxed); }

}  // namespace attune
