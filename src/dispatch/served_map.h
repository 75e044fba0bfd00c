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

struct LayoutSet;

/// What a problem is answered with.
struct alignas(64) Served {
  ProblemKey hash;
  GemmKey key;
  Hit hit;
  const LayoutSet* layouts = nullptr;  ///< Of its weights, packed ahead; null: they are an operand.
  bool was_missed = false;             ///< No row served it, now or before.
};

/// Answers by problem. Reading takes no lock and may go on while one is put; what was put stays where it is until the
/// map ends, also when another took its place.
class ServedMap {
 public:
  ServedMap();
  /// Null when there is none. About 5 ns.
  const Served* find(const ProblemKey& hash) const noexcept;
  /// Adds, or takes the place of the one of the same problem. Any thread.
  void put(const Served& served);
  size_t size() const;
  /// The ones in force, in the order in which their problems came.
  std::vector<Served> all() const;

 private:
  /// Open addressing; at most half of the places are taken.
  struct Places {
    explicit Places(size_t size) : mask(size - 1), places(size) {}
    std::atomic<const Served*>& of(const ProblemKey& hash) noexcept;
    size_t mask;
    std::vector<std::atomic<const Served*>> places;
  };

  std::atomic<Places*> current_;
  mutable std::mutex mutex_;  ///< Of all below.
  std::vector<std::unique_ptr<Places>> generations_;
  std::vector<std::unique_ptr<const Served>> answers_;
  std::vector<const Served*> in_force_;
};

}  // namespace attune
