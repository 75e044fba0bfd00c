// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>

#include "attune/export.h"
#include "attune/requirement.h"

namespace attune {

inline constexpr uint32_t kMaxWorkspaceAlignment = 256;

struct PlanTraits {
  uint64_t workspace_bytes = 0;
  uint32_t workspace_alignment = 64;  ///< A power of two, at most kMaxWorkspaceAlignment.
  uint64_t zeroed_bytes = 0;  ///< Prefix of the workspace: zero before the first run, and left zero by every run.
  /// Whether two launches on the same operands are expected to agree: its verification compares them.
  bool deterministic = true;
  /// Whether a stream that is being captured may be given to run(): it neither allocates nor waits for the device.
  bool capturable = false;
  /// Whether several threads may be inside run() at once, each with a workspace of its own. On a device with streams
  /// this holds for the calls alone: the work that they enqueue on different streams may overlap whenever their
  /// workspaces differ, and in a captured graph it runs on the workspace that was given to the capture.
  bool reentrant = true;
  /// Whether run() calls an operator of the application's own library, PyTorch's. A caller that is in this operator
  /// computes the call itself, and needs neither run() nor what would be prepared for it.
  bool is_applications_own = false;
  /// The strictest requirement that the solver states for the plan, because its own code or its library's documentation
  /// gives it. A requirement that is not stated is never assumed.
  Requirement states = Requirement::none;
  /// Host memory that the plan holds until it ends: itself included, shared memory excluded; 0: not stated. A
  /// dispatcher limits its plans by this number; the conformance suite measures whether it suffices.
  uint64_t host_bytes = 0;
  /// Memory of the device that the plan holds until it ends, on a device other than the host: a workspace of its own.
  uint64_t device_bytes = 0;
};

/// One call: operands in Op::tensors() order, each contiguous and aligned as its TensorSpec says.
struct Launch {
  std::span<void* const> operands;
  void* workspace = nullptr;
  void* stream = nullptr;
};

/// A prepared candidate, bound to one problem and device. Any thread may destroy it.
class ATTUNE_API Plan {
 public:
  virtual ~Plan() = default;
  virtual const PlanTraits& traits() const noexcept = 0;
  /// Enqueues the work (on a host: does it). A solver's plan allocates nothing; one that a
  /// Dispatcher keeps allocates a workspace for each stream that is new to it. Throws device when the library refuses.
  virtual void run(const Launch& launch) const = 0;
};

}  // namespace attune
