// SPDX-License-Identifier: MIT
#pragma once
#include <attune/capture.h>
#include <attune/problem.h>

#include <filesystem>

namespace attune::python {

/// Collects the shapes of this process's calls between start() and stop(). Under the GIL.
class ShapeCapture {
 public:
  explicit ShapeCapture(const std::filesystem::path& folder) : capture_(folder) {}
  ~ShapeCapture() { stop(); }
  ShapeCapture(const ShapeCapture&) = delete;
  ShapeCapture& operator=(const ShapeCapture&) = delete;

  void start();
  void stop() noexcept;  ///< Nothing for one that was not started.
  /// Throws io. Lets other threads run.
  void flush();
  uint64_t num_shapes() const noexcept { return capture_.num_shapes(); }
  uint64_t num_dropped() const noexcept { return capture_.num_dropped(); }

  /// Tells all that are started.
  static void note(const GemmKey& key) noexcept;

 private:
  Capture capture_;
};

}  // namespace attune::python
