// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "compile/cache_entry.h"

namespace attune {

/// The lock of a cache folder (flock on `<root>/.lock`), held for the life of the object. Processes that evict entries
/// hold it alone; those that lease entries share it, so that an entry is not evicted between its lease and the look
/// whether it is there. Not held twice by one thread.
class CacheLock {
 public:
  enum class Use : uint8_t { lease, eviction };
  /// `busy`: others held it for `wait_s`; `unsupported`: the folder cannot be written or its file system has no locks,
  /// so that nobody leases anything there.
  enum class State : uint8_t { held, busy, unsupported };

  /// Throws nothing.
  CacheLock(const std::filesystem::path& root, Use use, double wait_s = 1);
  ~CacheLock();
  CacheLock(const CacheLock&) = delete;
  CacheLock& operator=(const CacheLock&) = delete;
  State state() const noexcept { return state_; }

 private:
  int descriptor_ = -1;
  State state_ = State::unsupported;
};

/// Entries of a cache folder that one process needs and no process may evict while this object lives: their names in
/// `<root>/.lease-XXXXXX`, a file that the process holds locked. When the process dies, however it does, the system
/// releases the lock and the lease has ended. Belongs to one thread. Where files cannot be locked it has no effect.
class CacheLease {
 public:
  explicit CacheLease(std::filesystem::path root) : root_(std::move(root)) {}
  /// Ends the lease. A forked child's copy leaves the parent's lease as it is.
  ~CacheLease();
  CacheLease(const CacheLease&) = delete;
  CacheLease& operator=(const CacheLease&) = delete;

  /// Leases an entry, which need not exist. Returns a lock, under which the caller is to look whether it is there; null
  /// if it had been leased before. Requires: the root is trusted, and the caller holds no CacheLock. Throws nothing;
  /// takes some 20 µs.
  std::unique_ptr<CacheLock> add(const cache_entry::Place& place);

 private:
  bool is_written() const;
  void write();
  void append(const std::string& lines) const;
  void end();

  std::filesystem::path root_, file_;
  int descriptor_ = -1;
  pid_t owner_ = 0;
  std::set<std::string> names_;
};

/// Names (cache_entry::Place::name()) of the entries that living processes lease; removes the files of leases that have
/// ended. Requires: the caller holds the CacheLock for eviction. Throws nothing.
std::set<std::string> leased_entries(const std::filesystem::path& root);

}  // namespace attune
