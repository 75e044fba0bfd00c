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
constexpr double kAllowance = 8;   // multiple of the time at the kind's lowest rates
constexpr double kReferences = 2;  // one for each distribution

/// Cores that references are computed on: a host's units, else all that a worker may use.
double reference_cores(const DeviceKind& kind, const DeviceInfo& device) {
  const int64_t cores = kind.units_are_cores ? device.num_units : std::ssize(allowed_cores());
  return static_cast<double>(std::max<int64_t>(1, cores));
}

}  // namespace

Milliseconds step_limit(const Problem& problem, const Protocol& protocol, const DeviceInfo& device) {
  const Op& op = op_of(problem);
  const DeviceKind& kind = device_kind(device.kind);
  // The references sum in double, regardless of the type that candidates multiply (Work::arithmetic).
  const double arithmetic_s =
      kReferences * op.work(problem).flops / (kind.reference.flops_per_s * reference_cores(kind, device));
  const double memory_s = bench_bytes(op, problem, protocol, device) / kind.reference.bytes_per_s;
  constexpr double kYearS = 366 * 86400.0;
  return Milliseconds(static_cast<int64_t>(1e3 * std::min(kBaseS + kAllowance * (arithmetic_s + memory_s), kYearS)));
}

}  // namespace attune
