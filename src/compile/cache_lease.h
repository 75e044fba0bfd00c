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

/// The lock of a cache folder (flock on `<root>/.lock`), held for the life of the object. A process that evicts entries
/// holds it exclusively. Processes that lease entries share it, so that no entry is evicted between its lease and the
/// check that it exists. A thread must not hold it twice.
class CacheLock {
 public:
  enum class Use : uint8_t { lease, eviction };
  /// `busy`: others held it for `wait_s`. `unsupported`: the folder cannot be written or its file system has no locks,
  /// so there are no leases.
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

/// Entries of a cache folder that one process needs, and that no process may evict while this object lives. Their names
/// are in `<root>/.lease-XXXXXX`, a file that the process holds locked. However the process dies, the system releases
/// the lock, which ends the lease. Belongs to one thread. No effect where files cannot be locked.
class CacheLease {
 public:
  explicit CacheLease(std::filesystem::path root) : root_(std::move(root)) {}
  /// Ends the lease. A forked child's copy leaves the parent's lease as it is.
  ~CacheLease();
  CacheLease(const CacheLease&) = delete;
  CacheLease& operator=(const CacheLease&) = delete;

  /// Leases an entry, which need not exist. Returns a lock; the caller must check under it whether the entry exists.
  /// Null if it had been leased before. Requires: the root is trusted, and the caller holds no CacheLock. Throws
  /// nothing; takes some 20 µs.
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

/// Returns the names (cache_entry::Place::name()) of the entries that living processes lease, and removes the files of
/// ended leases. Requires: the caller holds the CacheLock for eviction. Throws nothing.
std::set<std::string> leased_entries(const std::filesystem::path& root);

}  // namespace attune
