// SPDX-License-Identifier: MIT
#include "dispatch/table/shared_rows.h"

#include <map>

#include "base/mutex.h"

namespace attune {
namespace {

/// The index under one key. Its lock is held while the index is made, so that others who want it wait for it.
struct Entry {
  Mutex mutex;
  std::weak_ptr<const RowIndex> index ATTUNE_GUARDED_BY(mutex);
};

struct SharedRows {
  Mutex mutex;  ///< Never held while an index is made: a key waits for no other.
  std::map<std::string, std::shared_ptr<Entry>> all ATTUNE_GUARDED_BY(mutex);

  std::shared_ptr<Entry> entry_of(const std::string& key) ATTUNE_EXCLUDES(mutex) {
    const Lock lock(mutex);
    std::erase_if(all, [](const auto& one) { return is_unused(one.second); });
    if (const auto known = all.find(key); known != all.end()) return known->second;
    return all.emplace(key, std::make_shared<Entry>()).first->second;
  }

 private:
  /// Nobody makes an index here: the map alone has the entry, and gives it away under the lock only.
  static bool is_unused(const std::shared_ptr<Entry>& entry) {
    if (entry.use_count() > 1) return false;
    const Lock lock(entry->mutex);
    return entry->index.expired();
  }
};

/// Never destroyed: threads may read tables while the process ends.
SharedRows& shared() {
  static SharedRows& rows = *new SharedRows;
  return rows;
}

}  // namespace

std::shared_ptr<const RowIndex> shared_rows(const std::string& key,
                                            const std::function<std::shared_ptr<const RowIndex>()>& make) {
  const std::shared_ptr<Entry> entry = shared().entry_of(key);
  const Lock lock(entry->mutex);
  if (auto index = entry->index.lock()) return index;
  auto made = make();
  entry->index = made;
  return made;
}

}  // namespace attune
