// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attune/plan.h"
#include "core/record.h"
#include "core/turn.h"
#include "device/own_buffer.h"
#include "measure/announcer.h"
#include "measure/executor.h"
#include "measure/operands/packed_weights.h"
#include "measure/operands/reference_cache.h"
#include "measure/operands/rotation.h"
#include "measure/verification.h"

namespace attune {

/// Whether TimedValues are the values of an operand: an input that is no scale, of fp32, bf16 or fp16.
bool has_timed_values(const TensorSpec& spec) noexcept;

/// Bytes of memory needed to measure a problem: operands of the check, references, rotation. A double, so that shapes
/// beyond any memory do not overflow.
double bench_bytes(const Op& op, const Problem& problem, const Protocol& protocol, const DeviceInfo& device);

/// A candidate of a problem prepared for another number of rows of the same weights.
struct OtherRows {
  int64_t m = 0;
  std::vector<TensorSpec> specs;
  std::unique_ptr<Plan> plan;
};

/// Owns everything of one problem on one device: stream, rotation, references, guarded output, workspace, packed
/// weights, and the plans by slot. The plans borrow these. Used by the device's owner thread only.
class Bench {
 public:
  /// The plan of an entrant and the resources it runs with.
  struct EntrantPlan {
    std::unique_ptr<Plan> plan;
    std::string pool;
    std::shared_ptr<PackedWeights> weights;  ///< Null: plain weights.
    Slot slot = 0;                           ///< Announced before each launch.
    std::unique_ptr<Graph> graph{};          ///< Graph of its last turn by graph; null: no such turn yet.
  };
  struct Sampling {
    Sample sample;
    uint64_t launches = 0;
    uint32_t dropped = 0;  ///< Number of rests because the clock was low.
  };
  struct FirstRun {
    double us = 0;
    uint32_t batch = 1;
    uint64_t launches = 0;
    Timing timing = Timing::clock;  ///< See AdmitAnswer::timing.
  };

  /// Allocates and fills the rotation; measures a bandwidth if this size class has none. `announcer` may be null; it
  /// must outlive the bench. Throws Error{device}.
  Bench(Device& device, const Op& op, const Problem& problem, const Protocol& protocol, Announcer* announcer = nullptr);
  ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  /// Reason why a time cannot be right; empty if it is plausible. If a time lies below the floor, the bandwidth is
  /// measured again first: one measured next to a busy neighbour would make a fast kernel implausible.
  std::string why_implausible(double us);
  const RotationSize& rotation() const noexcept { return rotation_->size(); }
  /// The bandwidth that was measured for the size of the rotation.
  double bandwidth_gbs() const { return device_.bandwidth_gbs(rotation_->size().bytes(), Reading::remembered); }
  /// Adds the references and the operands that all candidates share and could write to.
  void list(std::vector<HashedArea>& areas) const;

  /// Computes the references if they are missing. The time is charged to no candidate, and a failure is no candidate's
  /// fault.
  void prepare_references();
  /// Returns the weights in a layout. Entrants share them; they are packed for the first (outside any timing) and freed
  /// with the last. `verify`: also prepares the copies for verify(). Throws Error{device} without memory, and any
  /// exception of the packing.
  std::shared_ptr<PackedWeights> weights(const WeightPacking& packing, bool verify);
  /// See Verification. Throws Error{timeout} after a run that took longer than `limit` (0: none).
  Finding verify(const EntrantPlan& entrant, bool twice, Milliseconds limit, uint64_t& launches);
  /// Compares launches on the timed operands bit by bit, see compare_launches(). Sets `answer.output` and counts the
  /// launches in `answer`. Throws like verify(), and Error{device} when the system refuses a thread. Requires:
  /// reserve().
  Finding verify_repeats(const EntrantPlan& entrant, const std::string& expected, Milliseconds limit,
                         AdmitAnswer& answer);
  /// Compares each row of the result with the same row computed among other numbers of rows, bit by bit, on one copy of
  /// the weights (see RowAxis). Throws like verify(). Requires: reserve().
  Finding verify_rows(const EntrantPlan& entrant, std::span<const OtherRows> others, Milliseconds limit,
                      uint64_t& launches);
  /// Verifies plans again in the buffers in which they were timed, in the order of the turns. Each call follows a call
  /// of another plan. It gets a poisoned output, and other values of all operands at the same addresses. A turn of n
  /// launches is one such call, and n - 1 more in a row that must give the same result. Stops at the first plan that
  /// fails and returns it. `evaluate`: makes the outcome of a slot's step. Throws Error{device} without memory.
  /// Requires: has() of each slot.
  using EvaluateSlot = std::function<Outcome(Slot slot, const std::function<Finding()>& step)>;
  std::optional<std::pair<Slot, Outcome>> recheck(std::span<const Turn> turns, const EvaluateSlot& evaluate,
                                                  uint64_t& launches);
  /// Enlarges the workspace that the plans share; with `verify`, also allocates one between guard bands. Throws
  /// Error{device}.
  void reserve(const PlanTraits& traits, bool verify);
  /// Runs the entrant cold once, then returns the fastest of up to three warm runs, after its pool has its cores.
  FirstRun first_run(EntrantPlan& entrant, Milliseconds limit);

  void put(EntrantPlan entrant);
  bool has(Slot slot) const noexcept { return plans_.contains(slot); }
  void drop(Slot slot) noexcept { plans_.erase(slot); }
  /// Runs one turn, as described in measure/README.md. Requires: has(turn.slot). Throws any exception of the plan, and
  /// Error{timeout}.
  Sampling take(const Turn& turn);

 private:
  void run_again(const EntrantPlan& entrant, std::span<void* const> operands, Milliseconds limit, uint64_t& launches);
  Finding recheck_one(const Turn& turn, uint32_t copy, const TestData& data, uint64_t& launches);
  void run_to_end(const std::function<void()>& launches);
  void launch_on(const Plan& plan, std::span<void* const> operands, void* workspace);
  Finding compare_rows(const OtherRows& other, std::span<void* const> at_m);
  void enqueue_untimed(const EntrantPlan& entrant);
  void run_untimed(const EntrantPlan& entrant);
  void draw(const EntrantPlan& entrant, uint32_t launches, std::vector<Launch>& drawn);
  bool capture(EntrantPlan& entrant);
  double time_captured(EntrantPlan& entrant);
  double time_drawn(const EntrantPlan& entrant);
  void clear_prefix(const Plan& plan);
  void announce(Slot slot, Milliseconds limit);
  void fill(const Op& op, const Problem& problem, std::span<const Buffer> areas);

  Device& device_;
  Announcer* announcer_;
  Protocol protocol_;
  std::vector<TensorSpec> specs_;
  Work work_;
  double floor_us_ = 0;
  std::unique_ptr<Stream> stream_;
  ReferenceCache references_;
  Verification verification_;
  std::unique_ptr<Rotation> rotation_;
  OwnBuffer workspace_;                   ///< Shared by the plans, as large as the largest request.
  const Plan* workspace_user_ = nullptr;  ///< Plan whose zeroed prefix the workspace holds.
  std::map<std::string, std::weak_ptr<PackedWeights>> weights_;  ///< By layout.
  std::map<Slot, EntrantPlan> plans_;
  // Launches of the current turn; members to reuse their memory.
  std::vector<Launch> untimed_;   ///< Run first.
  std::vector<Launch> launches_;  ///< Timed.
};

}  // namespace attune
