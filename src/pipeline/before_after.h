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

/// A shape, the kernels that serve it before and after its tables changed, and what was measured of them.
struct ShapeChange {
  Problem problem;
  ServedKernel before, after;
  ChangeSamples samples;
  std::vector<double> before_us, after_us, untuned_us;  ///< Median of each opening.
  std::string reason;  ///< Why nothing was measured: a failure, or that the kernel is the same.

  bool is_measured() const noexcept { return !samples.attempts.empty(); }
};

struct BeforeAfterOptions {
  ChangeOptions change;
  Protocol protocol;  ///< Its timing is replaced by that of the device's kind.
  uint64_t seed = 0;
  Kernels* kernels = nullptr;  ///< Null: kernels that need compiling fail.
  Limits limits;               ///< As limits_on() completes them.
  Tick tick;                   ///< Stops the measuring; what is not done is left out.
  /// Called after each attempt that came to its end, a failure included, with the shape as it is then; may be empty.
  std::function<void(const ShapeChange&)> measured;
};

/// Looks up the kernels of a shape. One that no solver supports has a reason and is not measured. Throws nothing of
/// attune::Error.
ShapeChange shape_change(const Problem& problem, const TableLookup& before, const TableLookup& after,
                         Executor& executor, const Tick& tick = {});

/// Whether a shape lacks an attempt: it is not known to keep its kernel or to fail, and what was measured does not say.
bool is_to_be_measured(const ShapeChange& shape, const ChangeOptions& options);

/// Measures the kernels of all shapes: for each that has none a first attempt, then for each that needs it a second
/// one. An attempt verifies the old kernel, the new one and the default, and times them interleaved in openings, each a
/// fresh worker, at whose end they are verified again where they were timed. A shape with one kernel before and after
/// is not measured. What fails is noted in the shape. Throws what executors throw when the device is lost.
void measure_changes(std::vector<ShapeChange>& shapes, Executor& executor, const BeforeAfterOptions& options);

/// The verdicts on all shapes, by change_verdict: a shape that keeps its kernel is the same, one that nothing but
/// Attune's own stand-in served before has no default, one that was not measured for another reason failed.
std::vector<ChangeResult> judge(const std::vector<ShapeChange>& shapes, const ChangeOptions& options);

}  // namespace attune
