// SPDX-License-Identifier: MIT
#include "worker/step_limit.h"

#include <algorithm>
#include <iterator>

#include "base/machine.h"
#include "device/device_kind.h"
#include "measure/bench.h"
#include "ops/op.h"

namespace attune {
namespace {

constexpr double kBaseS = 10;
// An eighth of the rate of a reference's fast path on a 2.0 GHz core, and of filling and comparing memory.
constexpr double kFlopsPerSecond = 2.5e8, kBytesPerSecond = 2e8;
constexpr double kReferences = 2;  // one for each distribution

/// Cores that references are computed on: a host's units, else all that a worker may use.
int64_t reference_cores(const DeviceInfo& device) {
  return device_kind(device.kind).units_are_cores ? device.num_units : std::ssize(allowed_cores());
}

}  // namespace

Milliseconds step_limit(const Problem& problem, const Protocol& protocol, const DeviceInfo& device) {
  const Op& op = op_of(problem);
  const auto cores = static_cast<double>(std::max<int64_t>(1, reference_cores(device)));
  // The references sum in double, whatever the type that candidates multiply (Work::arithmetic).
  const double arithmetic_s = kReferences * op.work(problem).flops / (kFlopsPerSecond * cores);
  const double memory_s = bench_bytes(op, problem, protocol, device) / kBytesPerSecond;
  constexpr double kYearS = 366 * 86400.0;
  return Milliseconds(static_cast<int64_t>(1e3 * std::min(kBaseS + arithmetic_s + memory_s, kYearS)));
}

}  // namespace attune
