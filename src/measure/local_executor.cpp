// SPDX-License-Identifier: MIT
#include "measure/local_executor.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "measure/bitwise/row_axis.h"
#include "measure/cancelled.h"
#include "measure/evaluate.h"
#include "measure/plausibility.h"
#include "search/prune.h"
#include "search/weight_group.h"
#include "solver/library_build.h"

namespace attune {
namespace {

constexpr size_t kMaxOpen = 2;
// Usable share of the device's memory: libraries pack weights and keep their own scratch memory.
constexpr double kMemoryShare = 0.9;
constexpr double kGigabyte = 1e9;
constexpr Milliseconds kLibraryLimit{120'000};  // to open a library and ask it for versions and space

constexpr const char* kPlain = "plain";

/// The layouts of the weights that configs of a space name.
std::set<std::string> layouts_of(const SearchSpace& space) {
  std::set<std::string> layouts;
  for (const Parameter& parameter : space.parameters()) {
    if (parameter.name != "b_layout") continue;
    for (const Value& value : parameter.values) layouts.insert(to_text(value));
  }
  for (uint64_t i = 0; space.is_listed() && i < space.size(); ++i) layouts.insert(layout_of(space.at(i)));
  return layouts;
}

Contender without(const SolverEntry& entry, std::string reason) {
  Contender contender;
  contender.solver = entry.id;
  if (entry.solver != nullptr) contender.version = entry.solver->version();
  contender.support = Support::no(std::move(reason));
  return contender;
}

}  // namespace

/// A solver opened on the device, or the reason why it could not be opened.
struct LocalExecutor::Library {
  std::unique_ptr<Backend> backend;
  std::string unavailable;
  Versions builds;  ///< `build.<library>` of the libraries it calls.
};

LocalExecutor::LocalExecutor(Device& device, const Registry& registry, Announcer* announcer)
    : device_(device), registry_(registry), announcer_(announcer) {}
LocalExecutor::~LocalExecutor() = default;

void LocalExecutor::open(ProblemId id, const Problem& problem, const Protocol& protocol) {
  commands_.push_back({[this, id, problem, protocol] { return std::vector<Event>{do_open(id, problem, protocol)}; },
                       {cancelled_opening(id)}});
}

void LocalExecutor::close(ProblemId id) {
  commands_.push_back({[this, id] {
                         do_close(id);
                         return std::vector<Event>{};
                       },
                       {}});
}

void LocalExecutor::admit(ProblemId id, Slot slot, const Admission& admission) {
  commands_.push_back({[this, id, slot, admission] { return std::vector<Event>{do_admit(id, slot, admission)}; },
                       {cancelled_admission(slot)}});
}

void LocalExecutor::drop(Slot slot) {
  commands_.push_back({[this, slot] {
                         if (OpenProblem* opening = opening_of(slot)) give_back(*opening, slot);
                         lost_.erase(slot);
                         announce(0, {});
                         return std::vector<Event>{};
                       },
                       {}});
}

void LocalExecutor::sample(std::vector<Turn> schedule) {
  commands_.push_back(
      {[this, turns = std::move(schedule)] { return std::vector<Event>{do_sample(turns)}; }, {cancelled_sampling()}});
}

void LocalExecutor::recycle() {
  commands_.push_back({[this] { return std::vector<Event>{do_recycle()}; }, {Recycled{epoch_}}});
}

std::vector<Event> LocalExecutor::wait(Milliseconds) {
  while (!commands_.empty()) {
    const Command command = std::move(commands_.front());
    commands_.pop_front();
    if (auto events = command.run ? command.run() : command.cancelled; !events.empty()) return events;
  }
  return {};
}

void LocalExecutor::abort() {
  for (Command& command : commands_) {
    if (!command.cancelled.empty()) command.run = nullptr;  // Close and drop requests are still executed.
  }
}

void LocalExecutor::announce(Slot slot, Milliseconds limit) {
  if (announcer_ != nullptr) announcer_->announce(slot, limit);
}

Opened LocalExecutor::do_open(ProblemId id, const Problem& problem, const Protocol& protocol) {
  Opened answer;
  answer.problem = id;
  // References, bandwidth and libraries start threads, which need all cores.
  device_.settle({}, false);
  announce(0, {});
  try {
    const Op& op = op_of(problem);
    const Problem normal = op.normalise(problem, device_.info());
    const double bytes = bench_bytes(op, normal, protocol, device_.info());
    answer.refused = reason_to_refuse(bytes);
    if (!answer.refused.empty()) return answer;
    answer.busy = !fits_beside_the_open(bytes);
    if (answer.busy) return answer;
    OpenProblem opening{normal, protocol, {}, bytes, {}, nullptr, {}, {}};
    for (const SolverEntry& entry : registry_.entries()) {
      const auto place = static_cast<uint32_t>(&entry - registry_.entries().data());
      announce(kLibrarySlots + place, kLibraryLimit);
      const auto skipped = skipped_.find(place);
      opening.contenders.push_back(skipped == skipped_.end() ? contender_of(entry, normal)
                                                             : without(entry, skipped->second));
    }
    announce(0, {});
    find_packings(opening);
    answer.refused = reason_to_refuse(opening.bytes);
    if (!answer.refused.empty()) return answer;
    answer.busy = !fits_beside_the_open(opening.bytes);
    if (answer.busy) return answer;
    answer.contenders = opening.contenders;
    open_.insert_or_assign(id, std::move(opening));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal) throw;
    answer.refused = error.what();
  }
  return answer;
}

std::string LocalExecutor::reason_to_refuse(double bytes) const {
  const double there = kMemoryShare * static_cast<double>(device_.info().memory_bytes);
  if (bytes <= there) return {};
  return fmt::format(
      "the problem does not fit in memory; use a device with more, or a smaller shape: {:.1f} GB needed, {:.1f} GB of "
      "{:.1f} GB usable",
      bytes / kGigabyte, there / kGigabyte, static_cast<double>(device_.info().memory_bytes) / kGigabyte);
}

bool LocalExecutor::fits_beside_the_open(double bytes) const {
  if (open_.size() >= kMaxOpen) return false;
  double there = kMemoryShare * static_cast<double>(device_.info().memory_bytes);
  for (const auto& [id, opening] : open_) there -= opening.bytes;
  return bytes <= there;
}

LocalExecutor::Library& LocalExecutor::library(const Solver& solver) {
  auto& slot = libraries_[std::string(solver.id())];
  if (slot) return *slot;
  slot = std::make_unique<Library>();
  try {
    slot->backend = solver.open(device_);
    for (const EntryPoint& entry_point : slot->backend->entry_points()) {
      if (const auto build = library_build(entry_point.library); !build.empty())
        slot->builds["build." + entry_point.library] = build;
    }
    // The module determines how the library is called, so its build is recorded, too.
    for (const SolverEntry& entry : registry_.entries()) {
      const std::string module = std::filesystem::path(entry.module).filename();
      if (entry.id == solver.id() && !module.empty()) slot->builds["build." + module] = library_build(module);
    }
  } catch (const std::exception& error) {
    slot->unavailable = error.what();
  }
  return *slot;
}

Contender LocalExecutor::contender_of(const SolverEntry& entry, const Problem& problem) {
  if (entry.solver == nullptr) return without(entry, entry.unavailable);
  try {
    Support support = entry.solver->supports(problem, device_.info());
    if (!support.yes) return without(entry, support.reason);
    Library& opened = library(*entry.solver);
    if (!opened.backend) return without(entry, opened.unavailable);
    Contender contender;
    contender.solver = entry.id;
    contender.versions = opened.backend->versions();
    contender.version = candidate_version(*entry.solver, contender.versions);
    contender.versions.insert(opened.builds.begin(), opened.builds.end());
    contender.space = opened.backend->space(problem);
    contender.untuned = opened.backend->untuned(problem);
    contender.invariant = opened.backend->invariant_space(problem);
    return contender;
  } catch (const std::exception& error) {
    return without(entry, error.what());
  }
}

/// Finds the packing of each layout that a contender names, and adds the memory for all of them.
void LocalExecutor::find_packings(OpenProblem& opening) {
  if (!has_packed_weights(opening.problem)) return;
  const auto specs = op_of(opening.problem).tensors(opening.problem);
  const auto rotation = size_rotation(specs, opening.protocol.cache, device_.info().cache_bytes);
  for (Contender& contender : opening.contenders) {
    if (!contender.support.yes) continue;
    try {
      auto names = layouts_of(contender.space);
      names.merge(layouts_of(contender.invariant));
      for (const std::string& name : names) {
        if (name == kPlain || opening.packings.contains(name)) continue;
        Backend& backend = *library(*registry_.find(contender.solver)).backend;
        const auto& packing =
            opening.packings.emplace(name, packing_of({name}, opening.problem, backend)).first->second;
        opening.bytes += packed_weights_bytes(packing, rotation);
      }
    } catch (const std::exception& error) {
      contender.support = Support::no(error.what());
    }
  }
}

/// Throws unavailable if the problem's weights cannot be in the layout of the config.
void LocalExecutor::check_layout(const OpenProblem& opening, const Config& config) const {
  const std::string layout = layout_of(config);
  if (layout == kPlain) return;
  if (!has_packed_weights(opening.problem)) {
    fail(ErrorCode::unavailable,
         "weights are packed ahead for problems with bpreshuffle=1 only, the config has b_layout={}", layout);
  }
  if (!opening.packings.contains(layout))
    fail(ErrorCode::unavailable, "no available solver offers this layout of the weights: b_layout={}", layout);
}

Outcome LocalExecutor::prepare(OpenProblem& opening, const Admission& admission, std::unique_ptr<Plan>& plan) {
  const auto start = std::chrono::steady_clock::now();
  return evaluate(device_, Step::prepare, [&]() -> Finding {
    const Candidate& candidate = admission.candidate;
    check_layout(opening, candidate.config);
    if (const auto why = why_unusable(candidate, opening.problem, opening.contenders, device_.info()))
      fail(ErrorCode::unavailable, "{}", *why);
    const std::vector<Binary> binaries = binaries_.load(admission.binaries);
    plan = library(*registry_.find(candidate.solver)).backend->prepare(opening.problem, candidate.config, {binaries});
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
std::vector<OtherRows> LocalExecutor::prepare_other_rows(OpenProblem& opening, const Admission& admission) {
  const Candidate& candidate = admission.candidate;
  const auto entry = std::find_if(registry_.entries().begin(), registry_.entries().end(),
                                  [&](const SolverEntry& one) { return one.id == candidate.solver; });
  const Op& op = op_of(opening.problem);
  const auto recipes = [&](const Problem& problem) {
    std::vector<std::string> all;
    for (const CompileTask& task : entry->solver->compile_tasks(problem, candidate.config, device_.info()))
      all.push_back(task.recipe());
    return all;
  };
  const std::vector<Binary> binaries = binaries_.load(admission.binaries);
  std::vector<OtherRows> others;
  for (const int64_t m : probed_rows(opening.problem.integer("m"))) {
    const Problem problem = op.normalise(opening.problem.with("m", std::to_string(m)), device_.info());
    if (const auto why = why_unusable(candidate, problem, std::vector{contender_of(*entry, problem)}, device_.info()))
      fail(ErrorCode::unavailable, "it does not serve every M of the weights, as at M = {}: {}", m, *why);
    if (recipes(problem) != recipes(opening.problem))
      fail(ErrorCode::unavailable, "it does not serve every M of the weights with one kernel, as at M = {}", m);
    others.push_back(
        {m, op.tensors(problem), library(*entry->solver).backend->prepare(problem, candidate.config, {binaries})});
  }
  return others;
}

/// Makes the resources that every candidate of a problem needs. A failure is no candidate's fault; the same outcome,
/// made once, is reported for each.
bool LocalExecutor::make_bench(OpenProblem& opening, bool references) {
  if (!opening.broken.ok()) return false;
  opening.broken = evaluate(device_, Step::memory, [&]() -> Finding {
    if (!opening.bench) {
      opening.bench =
          std::make_unique<Bench>(device_, op_of(opening.problem), opening.problem, opening.protocol, announcer_);
    }
    if (references) opening.bench->prepare_references();
    return {};
  });
  return opening.broken.ok();
}

Admitted LocalExecutor::do_admit(ProblemId id, Slot slot, const Admission& admission) {
  const auto found = open_.find(id);
  ATTUNE_CHECK(found != open_.end(), "problem {} is not open", id);
  OpenProblem& opening = found->second;
  Admitted answer;
  answer.slot = slot;
  device_.settle({}, false);
  announce(0, {});
  if (!make_bench(opening, admission.verify || admission.twice)) {
    answer.verified = opening.broken;
    return answer;
  }
  answer.rotation_bytes = opening.bench->rotation().bytes();
  const Solver* solver = registry_.find(admission.candidate.solver);
  const std::string pool(solver != nullptr ? solver->thread_pool() : std::string_view{});
  device_.settle(pool, false);

  Bench::Entrant entrant{nullptr, pool, nullptr, slot};
  answer.verified = try_out(opening, admission, entrant, answer);
  if (!answer.verified.ok()) {
    announce(slot, admission.limits.load);
    entrant.plan.reset();
    return answer;
  }
  opening.admitted.insert_or_assign(slot, admission).first->second.output = answer.output;
  opening.bench->put(std::move(entrant));
  announce(0, {});
  return answer;
}

/// Prepares a candidate, verifies it and runs it for the first time.
Outcome LocalExecutor::try_out(OpenProblem& opening, const Admission& admission, Bench::Entrant& entrant,
                               Admitted& answer) {
  Bench& bench = *opening.bench;
  const bool check = admission.verify || admission.twice;
  announce(entrant.slot, admission.limits.load);
  Outcome verified = prepare(opening, admission, entrant.plan);
  if (!verified.ok()) return verified;
  answer.workspace_bytes = entrant.plan->traits().workspace_bytes;
  answer.states = entrant.plan->traits().states;
  announce(0, {});
  const Requirement required = opening.protocol.require;
  const bool is_stated = meets(answer.states, required);
  if (!is_stated && admission.must_meet)
    return {.status = Status::unsupported,
            .detail = fmt::format("its plan does not state that it is {}", text(required))};
  verified = evaluate(device_, Step::memory, [&]() -> Finding {
    bench.reserve(entrant.plan->traits(), check);
    const std::string layout = layout_of(admission.candidate.config);
    if (layout != kPlain) entrant.weights = bench.weights(opening.packings.at(layout), check);
    return {};
  });
  if (!verified.ok()) return verified;
  if (check) {
    verified = evaluate(device_, Step::run, [&] {
      Finding verdict = bench.verify(entrant, admission.twice, admission.limits.run, answer.launches);
      answer.corrupted = verdict.corrupted;
      return verdict;
    });
    if (!verified.ok()) return verified;
  }
  if (check && required == Requirement::batch_invariant && is_stated) {
    std::vector<OtherRows> others;
    Outcome invariant = evaluate(device_, Step::prepare, [&]() -> Finding {
      others = prepare_other_rows(opening, admission);
      return {};
    });
    if (invariant.ok()) {
      invariant = evaluate(device_, Step::run,
                           [&] { return bench.verify_rows(entrant, others, admission.limits.run, answer.launches); });
    }
    if (!invariant.ok()) return {.status = invariant.status, .detail = invariant.detail, .errors = verified.errors};
  }
  if (required != Requirement::none && is_stated) {
    const Outcome repeated = evaluate(device_, Step::run, [&] {
      return bench.verify_repeats(entrant, admission.output, admission.limits.run, answer);
    });
    if (!repeated.ok()) return {.status = repeated.status, .detail = repeated.detail, .errors = verified.errors};
  }
  Outcome timed = evaluate(device_, Step::run, [&]() -> Finding {
    const Bench::FirstRun first = bench.first_run(entrant, admission.limits.run);
    answer.launches += first.launches;
    answer.batch = first.batch;
    const std::string reason = bench.why_implausible(first.us);
    return reason.empty() ? Finding{} : Finding{Status::implausible_time, reason, {}};
  });
  if (timed.ok()) return verified;
  timed.errors = verified.errors;
  return timed;
}

Sampled LocalExecutor::do_sample(const std::vector<Turn>& schedule) {
  Sampled answer{.epoch = epoch_};
  for (const Turn& turn : schedule) {
    OpenProblem* opening = opening_of(turn.slot);
    if (opening == nullptr) {  // not restored, failed earlier in this schedule, or was never admitted
      if (auto lost = lost_.extract(turn.slot)) answer.failed.emplace_back(turn.slot, std::move(lost.mapped()));
      continue;
    }
    Bench* bench = opening->bench.get();
    Bench::Sampling taken;
    Outcome outcome = evaluate(device_, Step::run, [&]() -> Finding {
      taken = bench->take(turn);
      const std::string reason = bench->why_implausible(taken.sample.us);
      return reason.empty() ? Finding{} : Finding{Status::implausible_time, reason, {}};
    });
    answer.launches += taken.launches;
    answer.dropped += taken.dropped;
    if (outcome.ok()) {
      answer.turns.push_back(turn);
      answer.samples.push_back(taken.sample);
      continue;
    }
    give_back(*opening, turn.slot);
    answer.failed.emplace_back(turn.slot, std::move(outcome));
    for (size_t i = answer.turns.size(); i-- > 0;) {
      if (answer.turns[i].slot != turn.slot) continue;
      answer.turns.erase(answer.turns.begin() + static_cast<std::ptrdiff_t>(i));
      answer.samples.erase(answer.samples.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  announce(0, {});
  // Later work in this process (the tuner, a check for quiet) finds its thread unpinned and the pools at rest.
  device_.settle({}, false);
  return answer;
}

LocalExecutor::OpenProblem* LocalExecutor::opening_of(Slot slot) {
  for (auto& [id, opening] : open_) {
    if (opening.bench && opening.bench->has(slot)) return &opening;
  }
  return nullptr;
}

/// A plan may die or hang while it is freed (a destructor of its library), so the slot is announced, with the time
/// limit it had for loading.
void LocalExecutor::give_back(OpenProblem& opening, Slot slot) {
  announce(slot, opening.admitted.at(slot).limits.load);
  opening.bench->drop(slot);
  opening.admitted.erase(slot);
}

void LocalExecutor::do_close(ProblemId id) {
  const auto found = open_.find(id);
  if (found == open_.end()) return;
  while (!found->second.admitted.empty()) give_back(found->second, found->second.admitted.begin()->first);
  announce(0, {});
  open_.erase(found);
}

Recycled LocalExecutor::do_recycle() {
  ++epoch_;
  std::map<ProblemId, OpenProblem> before;
  for (const auto& [id, opening] : open_) {
    before[id] = {.problem = opening.problem, .protocol = opening.protocol, .admitted = opening.admitted};
  }
  for (const auto& [id, opening] : before) do_close(id);
  libraries_.clear();  // after the plans, which they outlive
  for (const auto& [id, opening] : before) restore(id, opening);
  return {epoch_};
}

void LocalExecutor::restore(ProblemId id, const OpenProblem& opening) {
  const Opened opened = do_open(id, opening.problem, opening.protocol);
  const bool is_open = opened.refused.empty() && !opened.busy;
  for (auto [slot, admission] : opening.admitted) {
    admission.verify = admission.twice = false;
    Outcome outcome{.status = Status::device_lost,
                    .detail = "the problem could not be opened again: " + opened.refused};
    if (is_open) outcome = do_admit(id, slot, admission).verified;
    if (!outcome.ok()) lost_.insert_or_assign(slot, std::move(outcome));
  }
}

}  // namespace attune
