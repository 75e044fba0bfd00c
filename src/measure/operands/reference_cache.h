// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "measure/operands/device_fill.h"
#include "measure/operands/device_reference.h"
#include "measure/operands/guarded_buffer.h"
#include "measure/operands/hashed_area.h"
#include "ops/op.h"

namespace attune {

/// The inputs of one distribution in guarded buffers, their hashes, and the reference computed from them. The integer
/// distribution holds Op::special_values().
struct TestData {
  std::vector<GuardedBuffer> inputs;  ///< The operands before the output.
  std::vector<Hash128> hashes;
  Reference reference;  ///< Read-only once it is computed; empty if it is on the device.
  /// Rows and columns of the output that the reference covers, ascending; empty: all of them.
  std::vector<int64_t> rows, columns;
  std::optional<DeviceReference> device_reference;
  std::vector<Hash128> reference_hashes;  ///< Of DeviceReference::areas().
  TestData() = default;
  ~TestData();
  TestData(const TestData&) = delete;
  TestData& operator=(const TestData&) = delete;
  void set_inputs_writable(bool writable) noexcept;
  bool is_protected = true;  ///< Whether set_inputs_writable() had an effect.
  /// Adds the unprotected areas in the device's memory.
  void list(std::vector<HashedArea>& areas) const;
  bool set_reference_writable(bool writable) noexcept;
  /// Copies elements of the reference from `first` on. Throws device.
  void read_reference(int64_t first, std::span<double> values, std::span<double> scales) const;
};

class HostInputs;

/// Arithmetic of the largest reference that the host computes: a product of 20,000 × 20,000 × 20,000, which takes a
/// core more than two hours.
inline constexpr double kMaxReferenceFlops = 0x1p44;

/// Computes a problem's references once, on the device if the op has a kernel for it, else on the op's fast path over
/// all cores. It checks them against the naive path: all of a problem of up to a million terms, else up to 256
/// elements. These are the corners and random ones; they take about 10 ms of one core, or 100 ms if an operand is
/// stored across its sums. A fault in a share s of the elements is missed by n samples with the probability (1 − s)ⁿ:
/// one of 2 % by 256 (K up to 4096) with 0.6 %, by 128 (K = 8192) with 8 %. Its threads have ended when a call returns,
/// so they disturb no timing. Where the memory has protection, candidates can write to none of its memory, except to
/// the inputs during a run. Elsewhere list() names the areas to hash.
class ReferenceCache {
 public:
  /// `is_stopped` (may be empty): asked ten times a second while a long reference is computed.
  ReferenceCache(Device& device, const Op& op, const Problem& problem, uint64_t seed,
                 std::function<bool()> is_stopped = {});
  /// Returns why a problem's reference cannot be computed; empty if it can be. Throws device.
  static std::string refusal(Device& device, const Op& op, const Problem& problem);
  /// Throws Error{device} without memory; Error{internal} when the two paths of the op disagree; Error{unavailable}
  /// when `is_stopped` returns true.
  TestData& get(Distribution distribution);
  /// Like get(). If the reference is neither computed yet nor cheap, it computes only some rows and columns, in about
  /// 10 ms: the first, the last, and random ones. Throws like get().
  TestData& get_some(Distribution distribution);
  /// Makes the inputs of a distribution writable for a run, until end_run(). Their hashes reveal changes, because a
  /// message explains more than the death of the process.
  void begin_run(Distribution distribution) { get(distribution).set_inputs_writable(true); }
  void end_run(Distribution distribution) noexcept;
  /// Adds references on the device and, where the memory has no protection, the inputs of all distributions. Requires:
  /// outside begin_run() and end_run().
  void list(std::vector<HashedArea>& areas) const;
  /// Fills inputs of the problem in the device's memory; null: the host fills them.
  DeviceFill* device_fill() noexcept { return fill_.get(); }
  /// Writes the inputs of a distribution again after a candidate damaged them. Requires: between begin_run() and
  /// end_run().
  void refill(Distribution distribution);

 private:
  void fill_on_device(Distribution distribution, TestData& data);
  void fill(Distribution distribution, TestData& data, HostInputs& inputs) const;
  void upload_special(std::span<const Buffer> inputs) const;
  void restore_guards(const TestData& data) const;
  std::unique_ptr<TestData> filled(Distribution distribution, std::optional<HostInputs>& inputs);
  void protect(TestData& data) const;
  void compute(TestData& data, const HostTensors& operands) const;
  void compute_some(TestData& data, const HostTensors& operands) const;
  void compute_on_device(TestData& data) const;
  void check(const TestData& data, Distribution distribution) const;
  void check(const TestData& data, const HostTensors& operands) const;

  Device& device_;
  const Op& op_;
  Problem problem_;
  uint64_t seed_;
  std::function<bool()> is_stopped_;
  std::vector<TensorSpec> specs_;
  std::unique_ptr<DeviceReferenceKernel> kernel_;  ///< Null: references are computed on the host.
  std::unique_ptr<DeviceFill>
      fill_;  ///< Null without a kernel for the reference: the host then computes it from its copy of the inputs.
  std::unique_ptr<TestData> data_[2], some_[2];  ///< By Distribution: whole references, and those from get_some().
};

}  // namespace attune
