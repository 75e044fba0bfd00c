// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <functional>
#include <memory>

#include "base/mutex.h"
#include "report/row_summary.h"

namespace attune {

/// The published tables as they are now, never null. Throws attune::Error.
using ReadRows = std::function<std::shared_ptr<const RowSummaries>()>;

/// The published tables for clients that ask at any time: they are read at most once in a while, and in at most a
/// share of the time, since a tuning may write large ones again and again. Thread-safe.
class TableReader {
 public:
  /// `read`: null where no tables are shown.
  explicit TableReader(ReadRows read, std::chrono::milliseconds max_age = std::chrono::seconds(2),
                       double max_share = 0.1)
      : read_(std::move(read)), max_age_(max_age), max_share_(max_share) {}

  /// Rows that are at most `max_age` old, or older if reading them takes long; while they cannot be read, a notice says
  /// why and stands alone.
  std::shared_ptr<const RowSummaries> rows();

 private:
  const ReadRows read_;
  const std::chrono::milliseconds max_age_;
  const double max_share_;
  Mutex mutex_;
  std::shared_ptr<const RowSummaries> rows_ ATTUNE_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point next_ ATTUNE_GUARDED_BY(mutex_);  ///< Not read again before.
};

}  // namespace attune
