// SPDX-License-Identifier: MIT
#include "server/tables/table_reader.h"

#include "base/error.h"

namespace attune {

std::shared_ptr<const RowSummaries> TableReader::rows() {
  const Lock lock(mutex_);
  if (read_at_ && std::chrono::steady_clock::now() - *read_at_ < max_age_) return rows_;
  RowSummaries now;
  try {
    if (read_) now = read_();
  } catch (const Error& error) {
    now.notices = {error.what()};
  }
  rows_ = std::make_shared<const RowSummaries>(std::move(now));
  read_at_ = std::chrono::steady_clock::now();
  return rows_;
}

}  // namespace attune
