// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "measure/executor.h"
#include "pipeline/change_verdict.h"
#include "pipeline/served_kernel.h"
#include "tuner/kernels.h"

namespace attune {

/// A shape, the kernels that serve it before and after its tables changed, and their measurements.
struct ShapeChange {
  Problem problem;
  ServedKernel before, after;
  ChangeSamples samples;
  std::vector<double> before_us, after_us, default_us;  ///< Median of each opening.
  std::string reason;  ///< Why nothing was measured: a failure, or that the kernel is the same.

  bool is_measured() const noexcept { return !samples.attempts.empty(); }
};

struct BeforeAfterOptions {
  ChangeOptions change;
  Protocol protocol;  ///< The device's kind replaces its timing.
  uint64_t seed = 0;
  Kernels* kernels = nullptr;  ///< Null: kernels that need compiling fail.
  Limits limits;               ///< As limits_on() completes them.
  Tick tick;                   ///< Stops the measuring: no further opening is taken.
  /// Called after each completed attempt, also after a failure, with the shape as it is then; may be empty.
  std::function<void(const ShapeChange&)> measured;
};

/// Looks up the kernels of a shape. One that no solver supports has a reason and is not measured. Throws nothing of
/// attune::Error.
ShapeChange shape_change(const Problem& problem, const TableLookup& before, const TableLookup& after,
                         Executor& executor, const Tick& tick = {});

/// Whether a shape still needs an attempt: its kernel has changed, it has not failed, and its samples do not decide.
bool is_to_be_measured(const ShapeChange& shape, const ChangeOptions& options);

/// Measures the kernels of all shapes: first each that has no attempt, then each that needs a second one. An attempt
/// verifies the old kernel, the new one and the default. It times them interleaved in openings, each a fresh worker,
/// and verifies them again there at the end of the opening. A shape with one kernel before and after is not measured.
/// Failures are noted in the shape. Throws what executors throw when the device is lost.
void measure_changes(std::vector<ShapeChange>& shapes, Executor& executor, const BeforeAfterOptions& options);

/// The verdicts on all shapes, by change_verdict. A shape that keeps its kernel is the same. A shape that only Attune's
/// own stand-in served before has no default. A shape that was not measured for another reason failed.
std::vector<ChangeResult> judge(const std::vector<ShapeChange>& shapes, const ChangeOptions& options);

}  // namespace attune
