// SPDX-License-Identifier: MIT
#include "server/tables/table_reader.h"

#include <algorithm>

#include "base/error.h"

namespace attune {

std::shared_ptr<const RowSummaries> TableReader::rows() {
  using std::chrono::steady_clock;
  const Lock lock(mutex_);
  const auto began = steady_clock::now();
  if (rows_ && began < next_) return rows_;
  rows_ = nullptr;  // Two of them at once would take twice the memory.
  try {
    rows_ = read_ ? read_() : std::make_shared<const RowSummaries>();
  } catch (const Error& error) {
    rows_ = std::make_shared<const RowSummaries>(RowSummaries{.rows = {}, .notices = {error.what()}});
  }
  const auto end = steady_clock::now();
  const auto pause = std::chrono::duration_cast<steady_clock::duration>((end - began) * (1 / max_share_ - 1));
  next_ = end + std::max<steady_clock::duration>(max_age_, pause);
  return rows_;
}

}  // namespace attune
