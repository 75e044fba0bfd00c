// SPDX-License-Identifier: MIT
#include "dispatch/plans/graph_holds.h"

#include <array>
#include <cstddef>
#include <new>
#include <utility>

namespace attune {

/// What the graphs of closed dispatchers hold.
GraphHolds::Holds& GraphHolds::never_freed() {
  alignas(Holds) static std::array<std::byte, sizeof(Holds)> memory;
  static Holds& all = *new (memory.data()) Holds;  // Allocates nothing: a destructor calls this.
  return all;
}

GraphHolds::~GraphHolds() {
  free_ended();
  static Mutex of_never_freed;
  const Lock lock(of_never_freed);
  never_freed().splice(never_freed().end(), holds_);
}

void GraphHolds::hold(CallerStreams& streams, void* stream, std::shared_ptr<void> object) {
  ++*num_held_;
  std::shared_ptr<void> graph(nullptr, [num_held = num_held_](void*) { --*num_held; });
  Holds fresh;
  Hold& kept = fresh.emplace_back(Hold{std::move(object), graph, {}});
  // The device may have dropped its share before it returns; this one ends when the answer is known.
  if (!streams.keep_with_graph(stream, graph)) kept.owner = std::move(graph);
  const Lock lock(mutex_);
  holds_.splice(holds_.end(), fresh);
}

GraphHolds::Holds GraphHolds::take_ended() {
  Holds ended;
  const Lock lock(mutex_);
  // A hold that is being added makes the numbers equal while a graph has ended: the next call finds that.
  if (holds_.size() == num_held()) return ended;
  for (auto next = holds_.begin(); next != holds_.end();) {
    const auto one = next++;
    if (one->graph.expired()) ended.splice(ended.end(), holds_, one);
  }
  return ended;
}

void GraphHolds::free_ended() {
  const Holds ended = take_ended();  // They end without the lock.
}

}  // namespace attune
