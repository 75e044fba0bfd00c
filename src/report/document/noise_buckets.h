// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <vector>

#include "core/outcome.h"
#include "report/document/model.h"

namespace attune {

/// Shares of disturbed samples by time, in pieces of one width that cover the time from the first measurement to the
/// last: at most kMaxPieces, because their width doubles when they do not suffice. Constant memory.
class NoiseBuckets {
 public:
  static constexpr size_t kMaxPieces = 96;

  /// `at_ms`: a time before the first one counts as the first, since clocks are set back; 0 (unknown) is ignored.
  void add(int64_t at_ms, const Measurement& measured);
  /// Pieces without a measurement are omitted.
  std::vector<ReportNoise> pieces() const;

 private:
  void widen();

  int64_t begin_ms_ = 0, width_ms_ = 1000;
  std::vector<ReportNoise> pieces_;
};

}  // namespace attune
