// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include "attune/dispatcher.h"
#include "dispatch/thread_limited_device.h"
#include "dispatch/threads/dispatch_log.h"

namespace attune {

/// Counts and logs the shapes that a dispatcher answers, and collects those that no row serves for online tuning. Not
/// thread-safe but for the counts.
class MissedShapes {
 public:
  /// The arguments must outlive this.
  MissedShapes(const DispatcherOptions& options, DispatchLog& log) : options_(options), log_(log) {}

  /// Notes an answer that is given for the first time, or that no row gives any more because its kernel cannot be
  /// compiled or the row left the table. `before`: the previous answer to the problem, or null. `served`: with its
  /// plan. Returns whether the shape was ever missed.
  bool note(const KeyCodes& codes, const RowIndex& rows, const LookupRequest& request, const CachedAnswer* before,
            const CachedAnswer& served);
  /// Collects a shape for online tuning that nothing here answers, once. O(shapes added).
  void add(const LookupRequest& request);
  bool is_empty() const noexcept { return missed_.empty(); }
  /// The number of units under which the first shape was missed: that of the device for which shapes are tuned. 0: none
  /// was missed.
  int64_t units() const noexcept { return units_; }
  /// Returns the normalised problems collected since the last call, except those whose results would not be used.
  /// `tuned`: the device with that number of units.
  std::vector<Problem> take(const FamilyCodes& codes, const ThreadLimitedDevice& tuned,
                            const TableSnapshotStore& store);

  uint64_t num_shapes() const noexcept { return num_shapes_; }
  uint64_t num_missed() const noexcept { return num_missed_; }

 private:
  const DispatcherOptions& options_;
  DispatchLog& log_;
  std::vector<LookupRequest> missed_;
  std::vector<Key> added_;  ///< By add().
  int64_t units_ = 0;
  std::atomic<uint64_t> num_shapes_{0}, num_missed_{0};
};

}  // namespace attune
