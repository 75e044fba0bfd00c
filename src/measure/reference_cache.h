// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "base/hash.h"
#include "measure/guarded_buffer.h"
#include "ops/op.h"

namespace attune {

/// The inputs of one distribution in guarded buffers, what they hash to, and the reference computed from them.
struct TestData {
  std::vector<GuardedBuffer> inputs;  ///< The operands before the output.
  std::vector<Hash128> hashes;
  Reference reference;
};

/// Computes a problem's references once, on the op's fast path over all cores, and checks 8 rows (fewer where a row is
/// of more than 16 million terms) against the obvious path. Its threads have ended when a call returns, so nothing is
/// timed beside them.
class ReferenceCache {
 public:
  ReferenceCache(Device& device, const Op& op, const Problem& problem, uint64_t seed);
  /// Throws Error{device} without memory; Error{internal} when the two paths of the op disagree.
  TestData& get(Distribution distribution);
  /// Writes the inputs of a distribution again after a candidate spoilt them.
  void refill(Distribution distribution);

 private:
  void fill(Distribution distribution, TestData& data) const;
  HostTensors tensors(const TestData& data) const;
  void compute(TestData& data) const;
  void check(const TestData& data) const;

  Device& device_;
  const Op& op_;
  Problem problem_;
  uint64_t seed_;
  std::vector<TensorSpec> specs_;
  std::unique_ptr<TestData> data_[2];  ///< By Distribution.
};

}  // namespace attune
