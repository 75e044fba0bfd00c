// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "attune/export.h"
#include "attune/gemm.h"
#include "attune/key.h"
#include "attune/problem.h"

namespace attune {

/// Collects the shapes that a process calls, in files that `attune tune -i` and the older tools can read:
/// `<folder>/<untuned file of the family>` gets one line per shape that the file does not yet have. The line is added
/// under a lock, so that several processes may share a folder and each shape occurs once. Counts of calls by this
/// process go to `<folder>/counts/<untuned file>.<host>.<pid>.<start>` (columns of the shape, `threads` and `calls`).
/// Files are replaced atomically: no reader sees part of a line, and no killed process leaves one.
/// docs/formats/capture.md. Thread-safe. After fork() the child starts empty, with counts of its own; it has no writing
/// thread and writes only in flush() and the destructor.
class ATTUNE_API Capture {
 public:
  /// Creates and writes nothing before the first shape. `folder`: absolute, or relative to the current directory at the
  /// time of this call. Throws invalid_input if it is empty.
  explicit Capture(const std::filesystem::path& folder);
  /// Writes all pending shapes and counts.
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  /// Counts a call. Lock-free and without I/O; takes at most 100 ns, except for the first call of a shape, which
  /// allocates. Some calls are counted in num_dropped() only: those of a shape beyond the first kMaxShapes, of a key
  /// that is no problem's, and, from the next flush() on, of a shape that no list can hold (a size below 1, a type that
  /// the op does not support).
  /// `threads`: thread limit of the call (Dispatcher::threads()) on a host; 0: unknown.
  void note(const Key& key, int threads = 0) noexcept;
  void note(const GemmKey& key, int threads = 0) noexcept;
  /// Counts a call of an op whose keys have texts (fmoe); the problem is normalised, or as read from a table. Takes a
  /// lock. A problem of no family, or one that no list can hold, is counted in num_dropped() only.
  void note(const Problem& problem);

  /// Writes new shapes and the current counts. The dispatcher's own thread calls it periodically and at the end. An
  /// error (disk full, a folder that cannot be created, a lock that another process holds for 10 s) is returned as one
  /// sentence, and the next call retries; empty: all is written. Never throws, never blocks note() of a key. Takes
  /// about 10 µs per shape, and writes two synced files per family that was called.
  std::string flush() noexcept;

  static constexpr size_t kMaxShapes = size_t{1} << 20;
  uint64_t num_dropped() const noexcept;  ///< Number of calls.
  uint64_t num_shapes() const noexcept;   ///< Distinct shapes called, including those that no list can hold.

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace attune
