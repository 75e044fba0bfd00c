// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attune/plan.h"
#include "core/record.h"
#include "core/turn.h"
#include "measure/announcer.h"
#include "measure/executor.h"
#include "measure/packed_weights.h"
#include "measure/reference_cache.h"
#include "measure/rotation.h"
#include "measure/verification.h"

namespace attune {

/// Memory a problem takes to measure, in bytes: operands of the check, references, rotation. A double, so that shapes
/// beyond any memory do not overflow.
double bench_bytes(const Op& op, const Problem& problem, const Protocol& protocol, const DeviceInfo& device);

/// Owns everything of one problem on one device: stream, rotation, references, guarded output, workspace, packed
/// weights, and the plans by slot. Plans borrow. Used by the device's owner thread.
class Bench {
 public:
  /// A plan and what it runs with.
  struct Entrant {
    std::unique_ptr<Plan> plan;
    std::string pool;
    std::shared_ptr<PackedWeights> weights;  ///< Null: plain ones.
    Slot slot = 0;                           ///< Announced before each launch.
  };
  struct Sampling {
    Sample sample;
    uint64_t launches = 0;
    uint32_t dropped = 0;  ///< Times the clock was low and the device was given a rest.
  };
  struct FirstRun {
    double us = 0;
    uint32_t batch = 1;
    uint64_t launches = 0;
  };

  /// Allocates and fills the rotation; measures a bandwidth if this size class has none. `announcer` may be null; it
  /// outlives the bench. Throws Error{device}.
  Bench(Device& device, const Op& op, const Problem& problem, const Protocol& protocol, Announcer* announcer = nullptr);
  ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  /// Why a time is not one; empty when it may be. A time below the floor has the bandwidth measured again first: what
  /// was measured beside a busy neighbour must not make a fast kernel a liar.
  std::string why_implausible(double us);
  const RotationSize& rotation() const noexcept { return rotation_->size(); }

  /// Computes the references if they are not there yet; not a candidate's time and not its fault.
  void prepare_references();
  /// The weights in a layout: those that another entrant has, or packed now, outside of any time; gone with the last
  /// entrant that has them. `verify`: also what verify() needs. Throws Error{device} without memory and what packing
  /// throws.
  std::shared_ptr<PackedWeights> weights(const WeightPacking& packing, bool verify);
  /// See Verification. A run longer than `limit` throws Error{timeout} when it ends (0: none).
  Finding verify(const Entrant& entrant, bool twice, Milliseconds limit, uint64_t& launches);
  /// Enlarges the workspace that the plans share and, to verify, makes one between guard bands. Throws Error{device}.
  void reserve(const PlanTraits& traits, bool verify);
  /// The fastest of a few warm runs after the entrant's pool has its places.
  FirstRun first_run(const Entrant& entrant, Milliseconds limit);

  void put(Entrant entrant);
  bool has(Slot slot) const noexcept { return plans_.contains(slot); }
  void drop(Slot slot) noexcept { plans_.erase(slot); }
  /// One turn, as described in measure/README.md. The slot must be there. Throws what its plan throws, and timeout.
  Sampling take(const Turn& turn);

 private:
  void run_untimed(const Entrant& entrant, uint32_t launches);
  void draw(const Entrant& entrant, uint32_t launches);
  void clear_prefix(const Plan& plan);
  void announce(Slot slot, Milliseconds limit);

  Device& device_;
  Announcer* announcer_;
  Protocol protocol_;
  std::vector<TensorSpec> specs_;
  Work work_;
  DType dtype_ = DType::fp32;
  double floor_us_ = 0;
  std::unique_ptr<Stream> stream_;
  ReferenceCache references_;
  Verification verification_;
  std::unique_ptr<Rotation> rotation_;
  struct Workspace;
  std::unique_ptr<Workspace> workspace_;
  const Plan* workspace_user_ = nullptr;                         ///< Whose zeroed prefix the workspace has.
  std::map<std::string, std::weak_ptr<PackedWeights>> weights_;  ///< By layout.
  std::map<Slot, Entrant> plans_;
  std::vector<Launch> launches_;  ///< Of the turn under way; kept for its memory.
};

}  // namespace attune
