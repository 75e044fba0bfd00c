// SPDX-License-Identifier: MIT
#pragma once
#include <attune/capture.h>
#include <attune/problem.h>

#include <filesystem>
#include "attune/gemm.h"

namespace attune::python {

/// Collects the shapes of this process's calls between start() and stop(). Requires the GIL, note() alone does not.
class ShapeCapture {
 public:
  explicit ShapeCapture(const std::filesystem::path& folder) : capture_(folder) {}
  ~ShapeCapture() { stop(); }
  ShapeCapture(const ShapeCapture&) = delete;
  ShapeCapture& operator=(const ShapeCapture&) = delete;

  void start();
  /// Returns when no thread is inside note() any more. Does nothing if it was not started.
  void stop() noexcept;
  /// Writes new shapes and the counts. Throws io. Releases the GIL.
  void flush();
  uint64_t num_shapes() const noexcept { return capture_.num_shapes(); }
  uint64_t num_dropped() const noexcept { return capture_.num_dropped(); }

  /// Notes a call in all started captures. `threads`: limit of its dispatcher on the host, 0 on a GPU. Any thread may
  /// call it; it takes no lock, so that a fork() can hold none.
  static void note(const Key& key, int threads) noexcept;
  static void note(const GemmKey& key, int threads) noexcept;

 private:
  Capture capture_;
};

}  // namespace attune::python
