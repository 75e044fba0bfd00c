// SPDX-License-Identifier: MIT
#include "measure/local_executor.h"
#include "ops/packed_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <set>

#include "base/error.h"
#include "core/candidate.h"
#include "device/device_kind.h"
#include "measure/bitwise/row_axis.h"
#include "measure/plausibility.h"
#include "search/prune.h"
#include "search/weight_group.h"

namespace attune {
namespace {

// Usable share of the device's memory: libraries pack weights and keep their own scratch memory.
constexpr double kMemoryShare = 0.9;
constexpr double kGigabyte = 1e9, kMebibyte = 1 << 20;
constexpr const char* kChanged = "the operands that all candidates are verified and timed with were changed";

}  // namespace

LocalExecutor::LocalExecutor(Device& device, const Registry& registry, Announcer* announcer)
    : device_(device),
      registry_(registry),
      steps_(announcer),
      solvers_(device, registry, &steps_),
      left_threads_(announcer != nullptr ? device.threads() : nullptr) {
  device_.time().begin();
}
LocalExecutor::~LocalExecutor() = default;

void LocalExecutor::begin(Request request) {
  ATTUNE_CHECK(!request_, "an executor does one request at a time");
  request_ = std::move(request);
  is_aborted_ = false;
  steps_.begin_request();
}

std::optional<Answer> LocalExecutor::take() {
  if (!request_) return std::nullopt;
  const Request request = *std::exchange(request_, std::nullopt);
  if (is_aborted_) return cancelled(request, epoch_);
  Answer answer = std::visit([this](const auto& one) -> Answer { return this->answer(one); }, request);
  if (!steps_.was_stopped()) return answer;
  if (const auto* open = std::get_if<request::Open>(&request)) close(open->id);
  if (const auto* admit = std::get_if<request::Admit>(&request)) drop(admit->slot);
  return cancelled(request, epoch_);
}

void LocalExecutor::drop(Slot slot) {
  const ActivityScope releasing(device_.time(), Activity::release);
  ATTUNE_CHECK(!request_, "slot {} is dropped while a request is outstanding", slot);
  if (OpenProblem* open_problem = open_problem_of(slot)) give_back(*open_problem, slot);
  lost_.erase(slot);
  announce(0, {});
}

void LocalExecutor::announce(Slot slot, Milliseconds limit) { steps_.announce(slot, limit); }

/// Returns the outcome of one step. If the device no longer works afterwards, ends the process or throws device, while
/// the slot of the step, if it has one, is still announced.
Outcome LocalExecutor::evaluate_step(Step step, const std::function<Finding()>& work) {
  if (steps_.was_stopped()) return {.status = Status::cancelled, .detail = "the request was stopped"};
  Outcome outcome = evaluate(step, work);
  check_device(outcome.detail);
  return outcome;
}

void LocalExecutor::check_device(const std::string& detail) {
  if (!device_.healthy())
    give_up(fmt::format("{} stopped working{}{}", device_.info().id, detail.empty() ? "" : ": ", detail));
}

/// Ends all work of this process if a candidate changed shared operands of any open problem. `slot`: the candidate; it
/// is announced without its limit, because hashing may take longer.
void LocalExecutor::check_operands(Slot slot) {
  announce(slot, {});
  if (!are_operands_intact()) give_up(kChanged);
}

/// Whether the shared operands of all open problems are unchanged: a stray write of one candidate may hit another
/// problem's.
bool LocalExecutor::are_operands_intact() const {
  const ActivityScope guarding(device_.time(), Activity::guard);
  std::vector<HashedArea> areas;
  for (const auto& [id, open_problem] : open_) {
    if (open_problem.bench) open_problem.bench->list(areas);
  }
  return areas.empty() || are_unchanged(device_.memory(), areas);
}

/// Ends all work of this process, while the guilty slot is announced.
void LocalExecutor::give_up(const std::string& why) {
  steps_.end_worker(why);
  fail(ErrorCode::device, "{}{}", why, running_ == nullptr ? "" : "; the candidate that ran is " + running_->name());
}

OpenAnswer LocalExecutor::answer(const request::Open& open) {
  const ActivityScope listing(device_.time(), Activity::list);
  OpenAnswer answer;
  answer.problem = open.id;
  // References, bandwidth and libraries start threads, which need all cores.
  settle(device_, {}, false);
  announce(0, {});
  try {
    const Op& op = op_of(open.problem);
    const Problem normal = op.normalise(open.problem, device_.info());
    const double bytes = bench_bytes(op, normal, open.protocol, device_.info()) +
                         static_cast<double>(device_kind(device_.info().kind).plan_bytes);
    if (!has_memory_for(bytes, answer)) return answer;
    answer.refused = ReferenceCache::refusal(device_, op, normal);
    if (!answer.refused.empty()) return answer;
    OpenProblem open_problem{normal,
                             open.protocol,
                             solvers_.contenders(normal, open.candidates ? &*open.candidates : nullptr),
                             bytes,
                             room(),
                             {},
                             nullptr,
                             {},
                             {}};
    if (open.candidates) open_problem.listing = SpaceListing::limited;
    find_packings(open_problem);
    if (!has_memory_for(open_problem.bytes, answer)) return answer;
    answer.contenders = open_problem.contenders;
    open_.insert_or_assign(open.id, std::move(open_problem));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal) throw;
    answer.refused = error.what();
  }
  check_device("while a problem was opened");
  return answer;
}

/// Whether a problem of this size can be opened now. If not, sets `refused` or `busy` in the answer.
bool LocalExecutor::has_memory_for(double bytes, OpenAnswer& answer) const {
  const auto all = static_cast<double>(device_.info().memory_bytes);
  double there = kMemoryShare * all * memory_share_;
  if (bytes > there) {
    const bool fits_alone = bytes <= kMemoryShare * all;
    answer.refused = fmt::format("the problem does not fit in {}: {:.1f} GB needed, {:.1f} GB of {:.1f} GB usable",
                                 fits_alone ? "the part of the memory that each of several workers has; use --workers 1"
                                            : "memory; use a device with more, or a smaller shape",
                                 bytes / kGigabyte, there / kGigabyte, all / kGigabyte);
    return false;
  }
  for (const auto& [id, open_problem] : open_) there -= open_problem.bytes;
  const double here = room();
  const bool is_short = bytes > here;
  answer.busy = open_.size() >= device_kind(device_.info().kind).max_open_problems || bytes > there ||
                (is_short && !open_.empty());
  if (is_short && open_.empty()) {
    answer.lacks_memory = true;
    answer.refused = lack_of_memory(bytes, here);
  }
  return !answer.busy && !is_short;
}

/// Returns the sentence for a problem that another run may decide.
std::string LocalExecutor::lack_of_memory(double bytes, double here) const {
  return fmt::format(
      "it needs {:.0f} MiB of {}, {:.0f} MiB are free{}", std::ceil(bytes / kMebibyte), device_.info().id,
      std::floor(std::max(here, 0.0) / kMebibyte),
      memory_reserve_ > 0 ? fmt::format(" beside the {} MiB kept for others", memory_reserve_ >> 20) : "");
}

/// Returns the bytes that one more problem can have now. Open problems allocate their memory later, so their need
/// counts as used.
double LocalExecutor::room() const {
  const auto free = device_.memory().free_bytes();
  if (!free) return std::numeric_limits<double>::infinity();
  double room = static_cast<double>(*free) - static_cast<double>(memory_reserve_);
  for (const auto& [id, open_problem] : open_) room = std::min(room, open_problem.room - open_problem.bytes);
  return room;
}

/// Finds the packing of each layout that a contender names, and adds the memory for all of them.
void LocalExecutor::find_packings(OpenProblem& open_problem) {
  if (!has_packed_weights(open_problem.problem)) return;
  const auto specs = op_of(open_problem.problem).tensors(open_problem.problem);
  const auto rotation = size_rotation(specs, open_problem.protocol.cache, device_.info().cache_bytes);
  open_problem.packings = solvers_.packings(open_problem.problem, open_problem.contenders);
  for (const auto& [name, packing] : open_problem.packings)
    open_problem.bytes += packed_weights_bytes(packing, rotation);
}

/// Throws unavailable if the problem's weights cannot be in the layout of the config.
void LocalExecutor::check_layout(const OpenProblem& open_problem, const Config& config) const {
  const std::string layout = layout_of(config);
  if (layout == kPlainLayout) return;
  if (!has_packed_weights(open_problem.problem)) {
    fail(ErrorCode::unavailable,
         "weights are packed ahead for problems with bpreshuffle=1 only, the config has b_layout={}", layout);
  }
  if (!open_problem.packings.contains(layout))
    fail(ErrorCode::unavailable, "no available solver offers this layout of the weights: b_layout={}", layout);
}

Outcome LocalExecutor::prepare(OpenProblem& open_problem, const Admission& admission, std::unique_ptr<Plan>& plan) {
  const auto start = std::chrono::steady_clock::now();
  return evaluate_step(Step::prepare, [&]() -> Finding {
    const Candidate& candidate = admission.candidate;
    check_layout(open_problem, candidate.config);
    plan = solvers_.prepare(open_problem.problem, candidate, find_contender(open_problem.contenders, candidate.solver),
                            binaries_.load(admission.binaries), open_problem.listing);
    ATTUNE_CHECK(plan != nullptr, "{} prepared no plan", candidate.name());
    const auto took = std::chrono::duration_cast<Milliseconds>(std::chrono::steady_clock::now() - start);
    if (admission.limits.load.count() > 0 && took > admission.limits.load) {
      fail(ErrorCode::timeout, "preparing took longer than its deadline: {} ms, {} ms allowed", took.count(),
           admission.limits.load.count());
    }
    return {};
  });
}

/// Prepares the candidate for other numbers of rows of the same weights. Throws unavailable if one kernel and one
/// config do not serve them all.
std::vector<OtherRows> LocalExecutor::prepare_other_rows(OpenProblem& open_problem, const Admission& admission) {
  const Candidate& candidate = admission.candidate;
  const auto entry = std::find_if(registry_.entries().begin(), registry_.entries().end(),
                                  [&](const SolverEntry& one) { return one.id == candidate.solver; });
  const Op& op = op_of(open_problem.problem);
  const auto recipes = [&](const Problem& problem) {
    std::vector<std::string> all;
    for (const CompileTask& task : entry->solver->compile_tasks(problem, candidate.config, device_.info()))
      all.push_back(task.recipe());
    return all;
  };
  const std::vector<Binary> binaries = binaries_.load(admission.binaries);
  std::vector<OtherRows> others;
  const std::string_view rows = op.family().rows;
  if (rows.empty()) return others;
  for (const int64_t m : probed_rows(open_problem.problem.integer(rows))) {
    const Problem problem = op.normalise(open_problem.problem.with(rows, std::to_string(m)), device_.info());
    const Contender contender = solvers_.contender(*entry, problem);
    if (const auto why = why_unusable(candidate, problem, &contender, device_.info()))
      fail(ErrorCode::unavailable, "it does not serve every M of the weights, as at M = {}: {}", m, *why);
    if (recipes(problem) != recipes(open_problem.problem))
      fail(ErrorCode::unavailable, "it does not serve every M of the weights with one kernel, as at M = {}", m);
    others.push_back({m, op.tensors(problem), solvers_.prepare(problem, candidate, &contender, binaries)});
  }
  return others;
}

/// Makes the resources that every candidate of a problem needs. A failure is no candidate's fault: every candidate gets
/// the same outcome, which is made once; only memory may be there the next time.
bool LocalExecutor::make_bench(OpenProblem& open_problem, bool references) {
  if (!open_problem.broken.ok() && open_problem.broken.status != Status::out_of_memory) return false;
  open_problem.broken = evaluate_step(Step::memory, [&]() -> Finding {
    if (!open_problem.bench) {
      open_problem.bench = std::make_unique<Bench>(device_, op_of(open_problem.problem), open_problem.problem,
                                                   open_problem.protocol, &steps_);
    }
    if (references) open_problem.bench->prepare_references();
    return {};
  });
  return open_problem.broken.ok();
}

AdmitAnswer LocalExecutor::answer(const request::Admit& admit) {
  const ActivityScope loading(device_.time(), Activity::load);
  const auto& [id, slot, admission] = admit;
  const auto found = open_.find(id);
  ATTUNE_CHECK(found != open_.end(), "problem {} is not open", id);
  OpenProblem& open_problem = found->second;
  AdmitAnswer answer;
  answer.slot = slot;
  settle(device_, {}, false);
  announce(0, {});
  if (!make_bench(open_problem, admission.verify || admission.twice)) {
    answer.verified = open_problem.broken;
    answer.lacks_memory = answer.verified.status == Status::out_of_memory;
    return answer;
  }
  answer.rotation_bytes = open_problem.bench->rotation().bytes();
  answer.bandwidth_gbs = open_problem.bench->bandwidth_gbs();
  const Solver* solver = registry_.find(admission.candidate.solver);
  const std::string pool(solver != nullptr ? solver->thread_pool() : std::string_view{});
  settle(device_, pool, false);

  const CandidateScope running(running_, admission.candidate);
  Bench::EntrantPlan entrant{nullptr, pool, nullptr, slot};
  answer.verified = try_out(open_problem, admission, entrant, answer);
  check_operands(slot);
  if (!answer.verified.ok()) {
    announce(slot, admission.limits.load);
    entrant.plan.reset();
    check_device({});
    return answer;
  }
  open_problem.admitted.insert_or_assign(slot, admission).first->second.output = answer.output;
  open_problem.bench->put(std::move(entrant));
  announce(0, {});
  return answer;
}

/// Prepares a candidate, verifies it and runs it for the first time.
Outcome LocalExecutor::try_out(OpenProblem& open_problem, const Admission& admission, Bench::EntrantPlan& entrant,
                               AdmitAnswer& answer) {
  Bench& bench = *open_problem.bench;
  const bool check = admission.verify || admission.twice;
  announce(entrant.slot, admission.limits.load);
  Outcome verified = prepare(open_problem, admission, entrant.plan);
  if (!verified.ok()) return verified;
  answer.workspace_bytes = entrant.plan->traits().workspace_bytes;
  answer.states = entrant.plan->traits().states;
  announce(0, {});
  const Requirement required = open_problem.protocol.require;
  const bool is_stated = meets(answer.states, required);
  if (!is_stated && admission.must_meet)
    return {.status = Status::unsupported,
            .detail = fmt::format("its plan does not state that it is {}", text(required))};
  const auto workspace = static_cast<double>(answer.workspace_bytes);
  if (open_problem.bytes + workspace > kMemoryShare * static_cast<double>(device_.info().memory_bytes))
    return {.status = Status::unsupported,
            .detail = fmt::format("its workspace of {:.1f} GB does not fit in the device", workspace / kGigabyte)};
  const auto plan_bytes = static_cast<double>(device_kind(device_.info().kind).plan_bytes);
  if (workspace > plan_bytes && open_problem.bytes - plan_bytes + workspace > open_problem.room)
    return {.status = Status::out_of_memory,
            .detail = lack_of_memory(workspace, open_problem.room - open_problem.bytes)};
  verified = evaluate_step(Step::memory, [&]() -> Finding {
    bench.reserve(entrant.plan->traits(), check);
    const std::string layout = layout_of(admission.candidate.config);
    if (layout == kPlainLayout) return {};
    announce(entrant.slot, {});  // The packing runs code of a library.
    entrant.weights = bench.weights(open_problem.packings.at(layout), check);
    return {};
  });
  if (!verified.ok()) return verified;
  std::optional<ActivityScope> verifying(std::in_place, device_.time(), Activity::verify);
  if (check) {
    verified = evaluate_step(Step::run, [&] {
      Finding verdict = bench.verify(entrant, admission.twice, admission.limits.run, answer.launches);
      answer.corrupted = verdict.corrupted;
      return verdict;
    });
    if (!verified.ok()) return verified;
  }
  if (check && required == Requirement::batch_invariant && is_stated) {
    std::vector<OtherRows> others;
    Outcome invariant = evaluate_step(Step::prepare, [&]() -> Finding {
      others = prepare_other_rows(open_problem, admission);
      return {};
    });
    if (invariant.ok()) {
      invariant = evaluate_step(
          Step::run, [&] { return bench.verify_rows(entrant, others, admission.limits.run, answer.launches); });
    }
    if (!invariant.ok()) return {.status = invariant.status, .detail = invariant.detail, .errors = verified.errors};
  }
  if (required != Requirement::none && is_stated) {
    const Outcome repeated = evaluate_step(
        Step::run, [&] { return bench.verify_repeats(entrant, admission.output, admission.limits.run, answer); });
    if (!repeated.ok()) return {.status = repeated.status, .detail = repeated.detail, .errors = verified.errors};
  }
  verifying.reset();
  Outcome timed = evaluate_step(Step::run, [&]() -> Finding {
    const ActivityScope running(device_.time(), Activity::first_run);
    const Bench::FirstRun first = bench.first_run(entrant, admission.limits.run);
    answer.launches += first.launches;
    answer.batch = first.batch;
    answer.timing = first.timing;
    const std::string reason = bench.why_implausible(first.us);
    return reason.empty() ? Finding{} : Finding{Status::implausible_time, reason, {}};
  });
  if (timed.ok() && left_threads_.leaves([&] { bench.first_run(entrant, admission.limits.run); }))
    timed = LeftThreads::outcome();
  if (timed.ok()) return verified;
  timed.errors = verified.errors;
  return timed;
}

LocalExecutor::OpenProblem* LocalExecutor::open_problem_of(Slot slot) {
  for (auto& [id, open_problem] : open_) {
    if (open_problem.bench && open_problem.bench->has(slot)) return &open_problem;
  }
  return nullptr;
}

/// A plan may die or hang in a destructor of its library, so the slot is announced, with its time limit for loading.
void LocalExecutor::give_back(OpenProblem& open_problem, Slot slot) {
  const ActivityScope releasing(device_.time(), Activity::release);
  announce(slot, open_problem.admitted.at(slot).limits.load);
  open_problem.bench->drop(slot);
  const auto gone = open_problem.admitted.extract(slot);
  const CandidateScope running(running_, gone.mapped().candidate);
  check_device({});
}

void LocalExecutor::close(ProblemId id) {
  const ActivityScope releasing(device_.time(), Activity::release);
  ATTUNE_CHECK(!request_, "problem {} is closed while a request is outstanding", id);
  const auto found = open_.find(id);
  if (found == open_.end()) return;
  while (!found->second.admitted.empty()) give_back(found->second, found->second.admitted.begin()->first);
  announce(0, {});
  open_.erase(found);
}

RecycleAnswer LocalExecutor::answer(const request::Recycle&) {
  const ActivityScope starting(device_.time(), Activity::start);
  ++epoch_;
  std::map<ProblemId, OpenProblem> before;
  for (const auto& [id, open_problem] : open_) {
    before[id] = {
        .problem = open_problem.problem, .protocol = open_problem.protocol, .admitted = open_problem.admitted};
  }
  for (const auto& [id, open_problem] : before) close(id);
  solvers_.close();  // after the plans, which need them
  for (const auto& [id, open_problem] : before) restore(id, open_problem);
  return {epoch_};
}

void LocalExecutor::restore(ProblemId id, const OpenProblem& open_problem) {
  std::vector<Candidate> candidates;
  for (const auto& [slot, admission] : open_problem.admitted) candidates.push_back(admission.candidate);
  const OpenAnswer reopened =
      answer(request::Open{id, open_problem.problem, open_problem.protocol, std::move(candidates)});
  const bool is_open = reopened.refused.empty() && !reopened.busy;
  for (auto [slot, admission] : open_problem.admitted) {
    admission.verify = admission.twice = false;
    Outcome outcome{.status = Status::device_lost,
                    .detail = "the problem could not be opened again: " + reopened.refused};
    if (is_open) outcome = answer(request::Admit{id, slot, std::move(admission)}).verified;
    if (!outcome.ok()) lost_.insert_or_assign(slot, std::move(outcome));
  }
}

}  // namespace attune
