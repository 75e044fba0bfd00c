// SPDX-License-Identifier: MIT
#include "dispatch/table/shared_rows.h"

#include <map>

#include "base/mutex.h"

namespace attune {
namespace {

struct SharedRows {
  Mutex mutex;
  std::map<std::string, std::weak_ptr<const RowIndex>> all ATTUNE_GUARDED_BY(mutex);
};

/// Never destroyed: threads may read tables while the process ends.
SharedRows& shared() {
  static SharedRows& rows = *new SharedRows;
  return rows;
}

}  // namespace

std::shared_ptr<const RowIndex> shared_rows(const std::string& key,
                                            const std::function<std::shared_ptr<const RowIndex>()>& make) {
  SharedRows& rows = shared();
  const Lock lock(rows.mutex);
  if (const auto found = rows.all.find(key); found != rows.all.end()) {
    if (auto index = found->second.lock()) return index;
  }
  std::erase_if(rows.all, [](const auto& one) { return one.second.expired(); });
  auto made = make();
  rows.all.insert_or_assign(key, made);
  return made;
}

}  // namespace attune
