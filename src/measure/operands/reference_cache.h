// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/hash.h"
#include "measure/operands/device_reference.h"
#include "measure/operands/guarded_buffer.h"
#include "ops/op.h"

namespace attune {

/// The inputs of one distribution in guarded buffers, their hashes, and the reference computed from them.
struct TestData {
  std::vector<GuardedBuffer> inputs;  ///< The operands before the output.
  std::vector<Hash128> hashes;
  Reference reference;  ///< Read-only once it is computed; empty if it is on the device.
  std::optional<DeviceReference> device_reference;
  std::array<Hash128, 2> reference_hashes;  ///< DeviceReference::hashes()
  TestData() = default;
  ~TestData();
  TestData(const TestData&) = delete;
  TestData& operator=(const TestData&) = delete;
  void set_inputs_writable(bool writable) noexcept;
  bool is_protected = true;  ///< Whether set_inputs_writable() had an effect.
  bool is_intact() const;
  bool set_reference_writable(bool writable) noexcept;
};

/// Computes a problem's references once, on the device if the op has a kernel for it, else on the op's fast path over
/// all cores, and checks 8 rows (fewer if a row has more than 16 million terms) against the naive path. Its threads
/// have ended when a call returns, so nothing is timed beside them. Where the memory has protection, candidates can
/// write to none of its memory, except to the inputs during a run; elsewhere is_intact() finds changed inputs.
class ReferenceCache {
 public:
  ReferenceCache(Device& device, const Op& op, const Problem& problem, uint64_t seed);
  /// Throws Error{device} without memory; Error{internal} when the two paths of the op disagree.
  TestData& get(Distribution distribution);
  /// Makes the inputs of a distribution writable for a run, until end_run(). Changes to them are found by their hashes,
  /// because a message explains more than a death.
  void begin_run(Distribution distribution) { get(distribution).set_inputs_writable(true); }
  void end_run(Distribution distribution) noexcept;
  /// Whether the inputs of all distributions are as they were at first, where the memory has no protection. Requires:
  /// outside begin_run() and end_run().
  bool is_intact() const;
  /// Writes the inputs of a distribution again after a candidate damaged them. Requires: between begin_run() and
  /// end_run().
  void refill(Distribution distribution);

 private:
  void fill(Distribution distribution, TestData& data) const;
  void compute(TestData& data, bool is_checked) const;
  void compute_on_device(TestData& data, bool is_checked) const;
  /// Reads a row of a reference: its values and its scales.
  using ReadRow = std::function<void(int64_t row, std::span<double> values, std::span<double> scales)>;
  void check(const ReadRow& read, const HostTensors& operands) const;

  Device& device_;
  const Op& op_;
  Problem problem_;
  uint64_t seed_;
  std::vector<TensorSpec> specs_;
  std::unique_ptr<DeviceReferenceKernel> kernel_;  ///< Null: references are computed on the host.
  std::unique_ptr<TestData> data_[2];              ///< By Distribution.
};

}  // namespace attune
