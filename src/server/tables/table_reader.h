// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "base/mutex.h"
#include "report/row_summary.h"

namespace attune {

/// Reads the published tables as they are now. Throws attune::Error.
using ReadRows = std::function<RowSummaries()>;

/// The published tables for clients that ask at any time: they are read at most once in a while. Thread-safe.
class TableReader {
 public:
  /// `read`: null where no tables are shown.
  explicit TableReader(ReadRows read, std::chrono::milliseconds max_age = std::chrono::seconds(2))
      : read_(std::move(read)), max_age_(max_age) {}

  /// Rows that are at most `max_age` old; while they cannot be read, a notice says why and stands alone.
  std::shared_ptr<const RowSummaries> rows();

 private:
  const ReadRows read_;
  const std::chrono::milliseconds max_age_;
  Mutex mutex_;
  std::shared_ptr<const RowSummaries> rows_ ATTUNE_GUARDED_BY(mutex_);
  std::optional<std::chrono::steady_clock::time_point> read_at_ ATTUNE_GUARDED_BY(mutex_);
};

}  // namespace attune
