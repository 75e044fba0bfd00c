// SPDX-License-Identifier: MIT
#include "tuner/classic/classic.h"

#include <algorithm>
#include <future>
#include <limits>
#include <memory>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "device/device_kind.h"
#include "measure/blocking_calls.h"
#include "tuner/candidate_source.h"
#include "tuner/interleaved.h"
#include "tuner/kernels.h"

namespace attune {
namespace {

constexpr ProblemId kClassicId = 0;
constexpr size_t kMaxCounted = 100;  // launches of v3.4
constexpr const char* kClassicStopped = "the run was stopped";

/// A candidate, and the time that the script would note for it.
struct TimedAlone {
  Candidate candidate;
  Kernels::BuildResult built;
  Outcome outcome;
  double us = 0;
};

/// Every candidate of the contenders: the default configs, then the rest of the spaces.
std::vector<Candidate> all_candidates(CandidateSource& source) {
  source.begin({});
  const std::vector<Candidate>& defaults = source.defaults();
  std::vector<Candidate> all = defaults;
  for (Candidate& one : source.ask(std::numeric_limits<size_t>::max())) {
    if (std::ranges::find(defaults, one) == defaults.end()) all.push_back(std::move(one));
  }
  return all;
}

/// The search on one device.
class ClassicRun {
 public:
  ClassicRun(ClassicScript script, Executor& executor, const TunerOptions& options, const Tick& tick)
      : script_(script),
        executor_(executor),
        protocol_(options.protocol),
        limits_{milliseconds_of(options.load_deadline_s), milliseconds_of(options.run_deadline_s)},
        tick_(tick) {
    protocol_.cache = CachePolicy::warm;
    protocol_.timing = device_kind(executor.device().kind).timing;
  }
  ~ClassicRun() { executor_.close(kClassicId); }
  ClassicRun(const ClassicRun&) = delete;
  ClassicRun& operator=(const ClassicRun&) = delete;

  OpenAnswer open(const Problem& problem) { return attune::open(executor_, {kClassicId, problem, protocol_}, tick_); }

  /// Times the candidates first, first + step … one after the other.
  void time(std::vector<TimedAlone>& all, size_t first, size_t step) {
    for (size_t i = first; i < all.size(); i += step) {
      if (!all[i].built.outcome.ok())
        all[i].outcome = all[i].built.outcome;
      else if (tick_ && tick_())
        all[i].outcome = {.status = Status::cancelled, .detail = kClassicStopped};
      else
        time_alone(all[i]);
    }
  }

  Outcome verify(const TimedAlone& winner) {
    const auto admitted = admit(winner, true);
    executor_.drop(slot_);
    return admitted.verified;
  }

 private:
  AdmitAnswer admit(const TimedAlone& timed, bool verify) {
    return attune::admit(executor_,
                         {kClassicId,
                          ++slot_,
                          {.candidate = timed.candidate,
                           .binaries = timed.built.binaries,
                           .verify = verify,
                           .twice = verify,
                           .limits = limits_,
                           .output = {}}},
                         tick_);
  }

  void time_alone(TimedAlone& timed) {
    const AdmitAnswer admitted = admit(timed, false);
    timed.outcome = admitted.verified;
    if (!timed.outcome.ok()) return;
    const Turn launch{
        .slot = slot_, .launches = 1, .limit = turn_limit(1, limits_), .timing = admitted.timing, .has_warm_up = false};
    const auto launches_us = run(std::vector<Turn>(num_launches(script_), launch), timed.outcome);
    executor_.drop(slot_);
    if (timed.outcome.ok()) timed.us = classic_us(script_, launches_us);
  }

  /// Returns the times of the turns, which are of one candidate. Repeats them if the worker was lost through no fault
  /// of the candidate. Without times, sets the reason in `outcome`.
  std::vector<double> run(const std::vector<Turn>& turns, Outcome& outcome) {
    constexpr int kMaxTries = 3;
    for (int i = 0; i < kMaxTries; ++i) {
      const SampleAnswer sampled = sample(executor_, {turns}, tick_);
      if (sampled.is_cancelled) {
        outcome = {.status = Status::cancelled, .detail = kClassicStopped};
        return {};
      }
      if (!sampled.failed.empty()) {
        outcome = sampled.failed.front().second;
        return {};
      }
      std::vector<double> launches_us;
      for (const Sample& one : sampled.samples) {
        if (one.us > 0) launches_us.push_back(one.us);
      }
      if (!sampled.interrupted && !launches_us.empty()) return launches_us;
    }
    outcome = {.status = Status::launch_failed, .detail = "no usable sample in three tries"};
    return {};
  }

  ClassicScript script_;
  Executor& executor_;
  Protocol protocol_;
  Limits limits_;
  const Tick& tick_;
  Slot slot_ = 0;  ///< Of the last candidate.
};

/// Opens the problem on a further device, and times its share there.
void time_share(ClassicRun& run, const Problem& problem, std::vector<TimedAlone>& all, size_t first, size_t step) {
  const OpenAnswer opened = run.open(problem);
  if (opened.refused.empty() && !opened.busy) return run.time(all, first, step);
  for (size_t i = first; i < all.size(); i += step)
    all[i].outcome = {.status = Status::unsupported, .detail = "another device refused the problem: " + opened.refused};
}

void time_all(std::span<const std::unique_ptr<ClassicRun>> runs, const Problem& problem, std::vector<TimedAlone>& all) {
  std::vector<std::future<void>> others;
  for (size_t i = 1; i < runs.size(); ++i)
    others.push_back(std::async(std::launch::async, time_share, std::ref(*runs[i]), std::cref(problem), std::ref(all),
                                i, runs.size()));
  runs.front()->time(all, 0, runs.size());
  for (std::future<void>& one : others) one.get();
}

}  // namespace

ClassicScript parse_classic_script(std::string_view text) {
  for (const ClassicScript script : {ClassicScript::v2, ClassicScript::v3_4}) {
    if (text == name(script)) return script;
  }
  fail(ErrorCode::invalid_input, "--classic expects v2 or v3.4, got '{}'", shown(text));
}

std::string_view name(ClassicScript script) noexcept { return kClassicScriptNames[static_cast<size_t>(script)]; }

uint32_t num_launches(ClassicScript script) noexcept { return script == ClassicScript::v2 ? 10 : 120; }

double classic_us(ClassicScript script, std::span<const double> launches_us) {
  ATTUNE_CHECK(!launches_us.empty(), "no launch was timed");
  if (script == ClassicScript::v2) return launches_us.back();
  std::vector<double> kept;
  for (const double us : launches_us) {
    if (us <= launches_us.front()) kept.push_back(us);
  }
  const auto num_counted = static_cast<std::ptrdiff_t>(std::min(kept.size(), kMaxCounted));
  return std::accumulate(kept.end() - num_counted, kept.end(), 0.0) / static_cast<double>(num_counted);
}

ClassicResult tune_classic(ClassicScript script, std::span<const ClassicDevice> devices, const WorkItem& item,
                           const TunerOptions& options, const Tick& tick) {
  ATTUNE_CHECK(!devices.empty(), "a classic search needs a device");
  std::vector<std::unique_ptr<ClassicRun>> runs;
  for (const ClassicDevice& device : devices)
    runs.push_back(std::make_unique<ClassicRun>(script, device.executor, options, tick));
  ClassicResult result;
  OpenAnswer opened = runs.front()->open(item.problem);
  if (!opened.refused.empty() || opened.busy) {
    result.reason = opened.busy ? "the device has no room for it" : opened.refused;
    return result;
  }
  std::erase_if(opened.contenders, [](const Contender& one) { return !one.parts.empty(); });
  CandidateSource source(item, devices.front().executor.device(), opened.contenders, options, {});
  const auto candidates = all_candidates(source);
  result.num_candidates = candidates.size();
  if (candidates.empty()) {
    result.reason = "no solver supports it" + (source.refusals().empty() ? "" : ": " + join(source.refusals(), "; "));
    return result;
  }
  Kernels* const kernels = devices.front().kernels;
  const auto stop = [&tick](size_t) { return tick && tick(); };
  auto built = kernels != nullptr ? kernels->build(item.problem, opened.contenders, candidates, stop)
                                  : std::vector<Kernels::BuildResult>(candidates.size());
  std::vector<TimedAlone> all;
  for (size_t i = 0; i < candidates.size(); ++i) all.push_back({candidates[i], std::move(built[i]), {}});
  time_all(runs, item.problem, all);
  const TimedAlone* winner = nullptr;
  for (const TimedAlone& one : all) {
    if (!one.outcome.ok())
      result.failures.emplace_back(one.candidate, one.outcome);
    else if (winner == nullptr || one.us < winner->us)
      winner = &one;
  }
  if (tick && tick()) {
    result.reason = kClassicStopped;
    return result;
  }
  if (winner == nullptr) {
    result.reason = fmt::format("none of {} could be timed", counted(candidates.size(), "candidate"));
    return result;
  }
  result.winner = winner->candidate;
  result.us = winner->us;
  result.verified = runs.front()->verify(*winner);
  return result;
}

}  // namespace attune
