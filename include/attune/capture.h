// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "attune/export.h"
#include "attune/problem.h"

namespace attune {

/// Collects the shapes that a process calls, into files that `attune tune -i` and the older tools read as they are:
/// `<folder>/<untuned file of the family>` gets one line for each shape that the file does not have, under a lock, so
/// that several processes may share a folder and a shape stands there once, whoever called it. How often this process
/// called each shape goes to `<folder>/counts/<untuned file>.<host>.<pid>.<start>` (columns of the shape, then
/// `calls`). Files are replaced as a whole: no reader and no killed process ever has a part of a line.
/// docs/formats/capture.md. Any thread. After fork() the child starts at nothing, with counts of its own; it writes
/// when it calls flush() or the destructor, since it has no thread that does.
class ATTUNE_API Capture {
 public:
  /// Nothing is written or made before the first shape comes. `folder`: absolute, else below where the process stands
  /// now. Throws invalid_input for an empty one.
  explicit Capture(const std::filesystem::path& folder);
  /// Writes what is not written.
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  /// Counts a call. Lock-free and without I/O; at most 100 ns but for the first call of a shape, which may allocate.
  /// Counted in num_dropped() only: a shape beyond the first kMaxShapes, one of an op without a typed key, and, from
  /// the next flush() on, one that no list of shapes can hold (a size below 1, a type that the op does not take).
  void note(const GemmKey& key) noexcept;
  /// Of an op without a typed key (fmoe); the problem is normalised, or as read from a table. Takes a lock. Dropped as
  /// above: a problem of no family, or one that no list can hold.
  void note(const Problem& problem);

  /// Writes new shapes and the counts so far. Called now and then by the dispatcher's own thread, and at the end. An
  /// error (disk full, a folder that cannot be made, a lock that another process holds for 10 s) is returned as one
  /// sentence, and what was not written is tried again by the next call; empty: all is written. Never throws, never
  /// blocks note(GemmKey). About 10 µs a shape, and two synced files a family that was called.
  std::string flush() noexcept;

  static constexpr size_t kMaxShapes = size_t{1} << 20;
  uint64_t num_dropped() const noexcept;  ///< Calls.
  uint64_t num_shapes() const noexcept;   ///< Distinct ones that were called, those that no list can hold included.

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace attune
