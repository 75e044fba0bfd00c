// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "formats/csv/shape_list.h"
#include "pipeline/served_kernel.h"
#include "tuner/interleaved.h"

namespace attune {

/// The problems of a list of shapes or a tuned table on a device.
struct DeviceShapes {
  std::vector<Shape> shapes;         ///< Normalised, each once.
  std::vector<std::string> notices;  ///< Of the file, and about shapes that the device or this build has none of.
};
/// Reads a list of shapes, or the rows of a tuned table that are of the device. Throws invalid_input with file and
/// line.
DeviceShapes read_device_shapes(const std::string& file, const ShapeOptions& options, const DeviceInfo& device);

/// The time of a shape: stated by its row, served with the tables, and of the default.
struct ShapeTimes {
  Shape shape;
  ServedKernel kernel;
  /// The default, and the kernel that serves with its ratio to it, which may be the same one. Empty: there is no
  /// default, or see `reason`.
  std::optional<TimedCandidate> baseline, served;
  std::string reason;  ///< Why it was not timed.
  bool ok() const { return served && served->outcome.ok(); }
};

/// Verifies and times the two kernels of a shape, interleaved. Throws nothing of attune::Error.
ShapeTimes time_shape(const Shape& shape, const TableLookup& tables, Executor& executor,
                      const InterleavedOptions& options);

}  // namespace attune
