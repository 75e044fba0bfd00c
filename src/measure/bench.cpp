// SPDX-License-Identifier: MIT
#include "measure/bench.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/error.h"
#include "device/host_bytes.h"
#include "measure/bitwise/repeated_launches.h"
#include "measure/bitwise/row_axis.h"
#include "measure/plausibility.h"
#include "measure/timing.h"
#include "tensor/kernel_dtype.h"
#include "tensor/random_fill.h"

namespace attune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kMaxRests = 3;          // after these the sample is taken at any clock
constexpr double kReferenceBytes = 8 * 2;  // a value and a scale
constexpr uint32_t kBusyFrom = 2,
                   kBusyTo = 3;        // marks around all launches of a step
constexpr double kFirstRunsUs = 2000;  // warm runs until this much time is spent, 3 at most

std::function<bool()> stop_of(Announcer* announcer) {
  if (announcer == nullptr) return {};
  return [announcer] { return announcer->is_stopped(); };
}

/// How an operand is filled that is not filled by its op; nothing for others.
std::optional<TensorFill> timed_fill(const TensorSpec& spec, TimedValues values, uint64_t seed) {
  if (values == TimedValues::randn || !has_timed_values(spec)) return std::nullopt;
  TensorFill how = {.dtype = spec.dtype, .seed = derive_seed(seed, spec.role)};
  if (values == TimedValues::hpl) how.values = TensorFill::Values::uniform;
  if (values == TimedValues::trig_float) how.values = TensorFill::Values::sine;
  return how;
}

double tensor_bytes(const TensorSpec& spec) {
  double bytes = bits(spec.dtype) / 8.0;
  for (const int64_t extent : spec.shape) bytes *= static_cast<double>(extent);
  return bytes;
}

}  // namespace

bool has_timed_values(const TensorSpec& spec) noexcept {
  return (spec.use == Use::activation || spec.use == Use::weight) && is_kernel_dtype(spec.dtype);
}

double bench_bytes(const Op& op, const Problem& problem, const Protocol& protocol, const DeviceInfo& device) {
  double inputs = 0, outputs = 0, elements = 0, copied = 0, shared = 0;
  for (const TensorSpec& spec : op.tensors(problem)) {
    (spec.use == Use::output ? outputs : inputs) += tensor_bytes(spec);
    (rotates(spec, protocol.cache) ? copied : shared) += tensor_bytes(spec);
    if (spec.use == Use::output) elements += tensor_bytes(spec) * 8 / bits(spec.dtype);
  }
  double rotation = 2 * copied + shared;  // Large operands have two copies.
  if (rotation < static_cast<double>(kRotationBytes))
    rotation = static_cast<double>(size_rotation(op.tensors(problem), protocol.cache, device.cache_bytes).bytes());
  // Two distributions, and the values that a recheck puts back; a second output for repeated runs; of small problems
  // the whole reference is computed twice.
  return 3 * inputs + 2 * outputs + 3 * kReferenceBytes * elements + rotation;
}

Bench::Bench(Device& device, const Op& op, const Problem& problem, const Protocol& protocol, Announcer* announcer)
    : device_(device),
      announcer_(announcer),
      protocol_(protocol),
      specs_(op.tensors(problem)),
      stream_(device.open_stream()),
      references_(device, op, problem, protocol.seed, stop_of(announcer)),
      verification_(device, op, problem, references_) {
  const ActivityScope filling(device.time(), Activity::fill);
  // Filled once and copied from there. The outputs start zeroed; every launch writes them whole.
  std::vector<OwnBuffer> filled;
  std::vector<Buffer> areas;
  for (const TensorSpec& spec : specs_) {
    filled.emplace_back(device.memory(), spec.bytes(), timed_alignment(spec, device));
    areas.push_back(filled.back().area());
  }
  fill(op, problem, areas);
  const auto size = size_rotation(specs_, protocol.cache, device.info().cache_bytes);
  rotation_ = std::make_unique<Rotation>(device, specs_, size, areas, derive_seed(protocol.seed, problem.key()));
  work_ = op.work(problem);
  // Operands that stay in the cache need not come from memory.
  if (protocol.cache == CachePolicy::served) work_.bytes = std::min(work_.bytes, static_cast<double>(size.copy_bytes));
  const ActivityScope reading(device.time(), Activity::bandwidth);
  floor_us_ = roofline_floor_us(work_, size.bytes(), device);
}

Bench::~Bench() = default;

void Bench::fill(const Op& op, const Problem& problem, std::span<const Buffer> areas) {
  if (DeviceFill* const on_device = references_.device_fill()) {
    on_device->fill(Distribution::normal, protocol_.seed, areas.first(areas.size() - 1));
    for (size_t i = 0; i < specs_.size(); ++i) {
      if (const auto how = timed_fill(specs_[i], protocol_.values, protocol_.seed)) on_device->fill(*how, areas[i]);
    }
    return device_.memory().fill(areas.back(), {});
  }
  std::vector<HostBytes> bytes;
  HostTensors operands;
  for (const Buffer& area : areas) bytes.emplace_back(device_.memory(), area, HostBytes::Contents::unset);
  for (HostBytes& one : bytes) operands.operands.push_back(one.bytes());
  op.fill(problem, Distribution::normal, protocol_.seed, operands);
  for (size_t i = 0; i < specs_.size(); ++i) {
    if (const auto how = timed_fill(specs_[i], protocol_.values, protocol_.seed))
      fill_tensor(*how, operands.operands[i]);
  }
  bytes.pop_back();
  const ActivityScope uploading(device_.time(), Activity::upload);
  for (HostBytes& one : bytes) one.store();
  device_.memory().fill(areas.back(), {});
}

void Bench::announce(Slot slot, Milliseconds limit) {
  if (announcer_ != nullptr) announcer_->announce(slot, limit);
}

std::string Bench::why_implausible(double us) {
  std::string reason = implausible(us, floor_us_);
  if (reason.empty() || !(us > 0)) return reason;
  const ActivityScope reading(device_.time(), Activity::bandwidth);
  floor_us_ = roofline_floor_us(work_, rotation_->size().bytes(), device_, Reading::again);
  return implausible(us, floor_us_);
}

void Bench::list(std::vector<HashedArea>& areas) const {
  rotation_->list(areas);
  references_.list(areas);
  for (const auto& [layout, known] : weights_) {
    if (const auto weights = known.lock()) weights->list(areas);
  }
}

void Bench::prepare_references() {
  references_.get(Distribution::normal);
  references_.get(Distribution::integers);
}

std::shared_ptr<PackedWeights> Bench::weights(const WeightPacking& packing, bool verify) {
  std::erase_if(weights_, [](const auto& one) { return one.second.expired(); });
  auto& known = weights_[packing.layout.name];
  auto weights = known.lock();
  if (!weights) {
    weights = std::make_shared<PackedWeights>(device_, specs_, *rotation_, packing);
    known = weights;
  }
  if (verify) weights->prepare_check(references_);
  return weights;
}

Finding Bench::verify(const EntrantPlan& entrant, bool twice, Milliseconds limit, uint64_t& launches) {
  const Plan& plan = *entrant.plan;
  bool has_run = false;
  const RunLaunch run = [&](const Launch& launch) {
    Launch bound = launch;
    bound.stream = stream_->native();
    // The first launch loads the kernel, which takes longer than the launch and is not verification.
    const ActivityScope running(device_.time(), std::exchange(has_run, true) ? Activity::verify : Activity::load);
    announce(entrant.slot, limit);
    const auto start = Clock::now();
    run_to_end([&] { plan.run(bound); });
    ++launches;
    check_limit(start, limit);
    announce(entrant.slot, {});  // The comparison of the output that follows may take longer.
  };
  return verification_.verify(plan.traits(), run,
                              {.twice = twice, .err_ratio = protocol_.err_ratio, .weights = entrant.weights.get()});
}

Finding Bench::verify_repeats(const EntrantPlan& entrant, const std::string& expected, Milliseconds limit,
                              AdmitAnswer& answer) {
  // Copies of the operands have equal values at different addresses. A result must not depend on these.
  const uint32_t num_copies = std::min<uint32_t>(rotation_->size().copies, 2);
  const HashOfLaunch launch = [&](uint32_t index) {
    const uint32_t copy = index % num_copies;
    const auto operands = entrant.weights ? entrant.weights->copy(copy) : rotation_->copy(copy);
    const Buffer output{operands.back(), specs_.back().bytes()};
    device_.memory().fill(output, {index, 1});
    clear_prefix(*entrant.plan);
    announce(entrant.slot, limit);
    const auto start = Clock::now();
    launch_on(*entrant.plan, operands, workspace_.data());
    check_limit(start, limit);
    announce(entrant.slot, {});  // The hash of a large output takes longer.
    ++answer.launches;
    return device_.memory().hash(output);
  };
  workspace_user_ = nullptr;
  const size_t num_cores = device_.threads() != nullptr ? static_cast<size_t>(device_.info().num_units) : 0;
  RepeatedOutput repeated = compare_launches(launch, num_cores, expected);
  answer.output = std::move(repeated.hash);
  if (repeated.fault.empty()) return {};
  return {Status::wrong_result, repeated.fault + " although its plan states that it is deterministic", {}};
}

/// Waits for the launches, and counts their time as the device's.
void Bench::run_to_end(const std::function<void()>& launches) {
  stream_->record(kBusyFrom);
  launches();
  stream_->record(kBusyTo);
  stream_->synchronize();
  device_.time().add_busy_us(stream_->elapsed_us(kBusyFrom, kBusyTo));
}

void Bench::launch_on(const Plan& plan, std::span<void* const> operands, void* workspace) {
  run_to_end([&] { plan.run({operands, workspace, stream_->native()}); });
}

Finding Bench::verify_rows(const EntrantPlan& entrant, std::span<const OtherRows> others, Milliseconds limit,
                           uint64_t& launches) {
  const auto at_m = entrant.weights ? entrant.weights->copy(0) : rotation_->copy(0);
  clear_prefix(*entrant.plan);
  announce(entrant.slot, limit);
  launch_on(*entrant.plan, at_m, workspace_.data());
  ++launches;
  for (const OtherRows& other : others) {
    // The time of a launch grows at most in proportion to its rows.
    const int64_t share = other.m / std::max<int64_t>(1, specs_.back().shape.front()) + 1;
    announce(entrant.slot, limit * share);
    const auto start = Clock::now();
    Finding found = compare_rows(other, at_m);
    check_limit(start, limit * share);
    announce(entrant.slot, {});
    ++launches;
    if (found.status != Status::ok) return found;
  }
  return {};
}

/// Launches on rows gathered from those at M and compares the results.
Finding Bench::compare_rows(const OtherRows& other, std::span<void* const> at_m) {
  std::vector<std::unique_ptr<GuardedBuffer>> own;
  std::vector<void*> operands;
  const auto bytes_at_m = [&](size_t i) { return HostBytes(device_.memory(), {at_m[i], specs_[i].bytes()}); };
  std::optional<RowAxis> axis;
  for (size_t i = 0; i < specs_.size(); ++i) {
    axis = RowAxis::between(specs_[i], other.specs[i]);
    if (!axis) {
      operands.push_back(at_m[i]);
      continue;
    }
    own.push_back(std::make_unique<GuardedBuffer>(device_, other.specs[i].bytes(), specs_[i].alignment_bytes, 8));
    operands.push_back(own.back()->data());
    if (specs_[i].use == Use::output) continue;
    HostBytes gathered(device_.memory(), own.back()->area(), HostBytes::Contents::unset);
    axis->gather(bytes_at_m(i).bytes(), gathered.bytes());
    gathered.store();
  }
  ATTUNE_CHECK(axis, "the result of '{}' has no rows", specs_.back().role);
  device_.memory().fill(own.back()->area(), Poison::of(specs_.back().dtype).element);
  const GuardedBuffer workspace(device_, std::max<uint64_t>(1, other.plan->traits().workspace_bytes),
                                other.plan->traits().workspace_alignment, 8);
  device_.memory().fill(workspace.area(), {});
  launch_on(*other.plan, operands, workspace.data());
  const HostBytes expected = bytes_at_m(specs_.size() - 1), got(device_.memory(), own.back()->area());
  const auto row = axis->first_different(expected.bytes(), got.bytes());
  if (!row) return {};
  return {
      Status::wrong_result,
      fmt::format("row {} of its result at M = {} differs from the same row, {}, at M = {} although its plan states "
                  "that it is batch-invariant",
                  *row, axis->other, axis->place_at_m(*row), axis->m),
      {}};
}

void Bench::reserve(const PlanTraits& traits, bool verify) {
  if (verify) verification_.reserve(traits);
  if (workspace_.area().bytes >= traits.workspace_bytes) return;
  workspace_.reset();
  workspace_user_ = nullptr;
  workspace_ = OwnBuffer(device_.memory(), traits.workspace_bytes, kMaxWorkspaceAlignment);
}

void Bench::draw(const EntrantPlan& entrant, uint32_t launches, std::vector<Launch>& drawn) {
  drawn.clear();
  for (uint32_t i = 0; i < launches; ++i) {
    const uint32_t copy = rotation_->next_index();
    const auto operands = entrant.weights ? entrant.weights->copy(copy) : rotation_->copy(copy);
    drawn.push_back({operands, workspace_.data(), stream_->native()});
  }
}

/// Other plans use the workspace as scratch memory, so a plan with a zero prefix gets it cleared unless it was the last
/// user.
void Bench::clear_prefix(const Plan& plan) {
  const PlanTraits& traits = plan.traits();
  if (traits.workspace_bytes == 0) return;
  if (workspace_user_ != &plan && traits.zeroed_bytes > 0)
    device_.memory().fill(workspace_.area().part(0, traits.zeroed_bytes), {});
  workspace_user_ = &plan;
}

void Bench::enqueue_untimed(const EntrantPlan& entrant) {
  for (const Launch& launch : untimed_) entrant.plan->run(launch);
}

void Bench::run_untimed(const EntrantPlan& entrant) {
  clear_prefix(*entrant.plan);
  run_to_end([&] { enqueue_untimed(entrant); });
}

/// Captures the drawn launches, replacing the graph of the entrant's last turn. False: they cannot be captured.
bool Bench::capture(EntrantPlan& entrant) {
  entrant.graph = capture_launches(*stream_, *entrant.plan, launches_, std::move(entrant.graph));
  return entrant.graph != nullptr;
}

/// Runs the captured launches right behind untimed ones: after a rest, a device takes up to 40 µs longer
/// (docs/performance/gpu_samples.md, Start of a sample).
double Bench::time_captured(EntrantPlan& entrant) {
  clear_prefix(*entrant.plan);
  run_to_end([&] {
    enqueue_untimed(entrant);
    entrant.graph->launch();
  });
  return stream_->elapsed_us(kTimedFrom, kTimedTo) / static_cast<double>(launches_.size());
}

double Bench::time_drawn(const EntrantPlan& entrant) {
  const double us = time_launches(*stream_, *entrant.plan, launches_);
  device_.time().add_busy_us(us * static_cast<double>(launches_.size()));
  return us;
}

Bench::FirstRun Bench::first_run(EntrantPlan& entrant, Milliseconds limit) {
  FirstRun first{.timing = protocol_.timing};
  draw(entrant, 1, untimed_);
  announce(entrant.slot, limit);
  auto start = Clock::now();
  run_untimed(entrant);
  ++first.launches;
  check_limit(start, limit);
  settle(device_, entrant.pool, true);
  double spent_us = 0;
  for (int i = 0; i < 3 && (i == 0 || spent_us < kFirstRunsUs); ++i) {
    draw(entrant, 1, launches_);
    // By graph, an untimed launch comes before the timed one.
    const Milliseconds allowed = first.timing == Timing::graph ? 2 * limit : limit;
    announce(entrant.slot, allowed);
    start = Clock::now();
    if (first.timing == Timing::graph && !(entrant.plan->traits().capturable && capture(entrant)))
      first.timing = Timing::events;
    const bool by_graph = first.timing == Timing::graph;
    const double us = by_graph ? time_captured(entrant) : time_drawn(entrant);
    first.launches += by_graph ? 2 : 1;
    check_limit(start, allowed);
    first.us = i == 0 ? us : std::min(first.us, us);
    spent_us += us;
  }
  first.batch = first.us > 0 ? batch_for(first.us, least_sample_us(device_.info())) : 1;
  return first;
}

void Bench::put(EntrantPlan entrant) {
  // A new plan may have the address of a freed one.
  workspace_user_ = nullptr;
  plans_.insert_or_assign(entrant.slot, std::move(entrant));
}

Bench::Sampling Bench::take(const Turn& turn) {
  EntrantPlan& entrant = plans_.at(turn.slot);
  const uint32_t launches = std::max(1u, turn.launches);
  const uint32_t untimed = turn.has_warm_up ? untimed_for(launches, turn.timing) : 0;
  const bool by_graph = turn.timing == Timing::graph;
  Sampling taken;
  double us = 0;
  auto start = Clock::now();
  while (true) {
    draw(entrant, untimed, untimed_);
    draw(entrant, launches, launches_);
    announce(turn.slot, turn.limit);
    start = Clock::now();
    // Each turn has its own capture, so that the copies have a new order: see docs/measurement.md.
    if (by_graph && !capture(entrant)) {
      run_untimed(entrant);  // An error of the plan itself explains more.
      fail(ErrorCode::device, "its launches were captured when it was admitted, and cannot be captured any more");
    }
    settle(device_, entrant.pool, false);
    if (by_graph)
      us = time_captured(entrant);
    else
      run_untimed(entrant);
    taken.launches += untimed + (by_graph ? launches : 0);
    settle(device_, entrant.pool, true);
    taken.sample.clock = static_cast<float>(device_.relative_clock());
    if (taken.sample.clock >= kLeastClock || taken.dropped == kMaxRests) break;
    // 1, 2, 4 ms: a core leaves a low clock within a few ms. A hot core stays low, and the sample is marked dirty.
    std::this_thread::sleep_for(std::chrono::milliseconds(1 << taken.dropped++));
  }
  Disturbance disturbance;
  if (!by_graph) {
    DeviceThreads* const threads = device_.threads();
    if (threads != nullptr) threads->begin_watch();
    us = time_drawn(entrant);
    if (threads != nullptr) disturbance = threads->end_watch();
    taken.launches += launches;
  }
  check_limit(start, turn.limit);
  taken.sample.us = static_cast<float>(us);
  taken.sample.round = turn.round;
  taken.sample.dirty = is_dirty(disturbance, taken.sample.clock);
  return taken;
}

}  // namespace attune
