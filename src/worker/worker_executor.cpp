// SPDX-License-Identifier: MIT
#include "worker/worker_executor.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "core/device_lost.h"
#include "worker/step_limit.h"

namespace attune {
namespace {

using Clock = std::chrono::steady_clock;

/// Deaths without a blamed candidate, per request or per restoration of all slots.
constexpr uint32_t kMaxUnattributedDeaths = 3;
constexpr int kStarts = 3;           // attempts to start a worker
constexpr int kMaxFailedProbes = 2;  // then the device is lost

/// Thrown during the recovery from a death; caught before the caller sees it.
struct StopRequest {};

/// Outcome of a death without a blamed candidate; it proves nothing about the candidates.
Outcome unattributed(const Outcome& outcome) {
  return {.status = Status::device_lost, .detail = "no candidate is to blame: " + outcome.detail};
}

template <typename Wanted>
const Wanted* as(const WorkerRequest& request) {
  return std::get_if<Wanted>(&request);
}

/// Returns the reason to end a worker's life: its death, a mismatched answer, or its failure to continue.
std::optional<Death> death_of(const WorkerRequest& request, const WorkerProcess::Event& event) {
  if (const auto* death = std::get_if<Death>(&event)) return *death;
  const auto& reply = std::get<Reply>(event);
  if (!fits(request, reply))
    return Death{{.status = Status::crashed, .detail = "the worker's answer does not match the request"}, 0};
  const auto* failed = std::get_if<reply::Failure>(&reply);
  if (failed == nullptr || as<request::Hello>(request)) return std::nullopt;
  return Death{{.status = Status::crashed, .detail = "the worker cannot continue: " + failed->message}, 0};
}

}  // namespace

WorkerExecutor::WorkerExecutor(WorkerOptions options) : options_(std::move(options)) {
  if (options_.shared) poll_set_.watch(user_.emplace(options_.shared).descriptor());
  try {
    start();
  } catch (const StopRequest&) {
    fail(ErrorCode::unavailable, "stopped before a worker started on {}", users_name(options_));
  }
}
WorkerExecutor::~WorkerExecutor() = default;

Workers WorkerExecutor::workers() {
  Workers all{.processes = {}, .time = time_};
  if (worker_) all.processes.push_back(worker_->pid());
  if (spare_) all.processes.push_back(spare_->pid());
  return all;
}

void WorkerExecutor::begin(Request request) {
  ATTUNE_CHECK(!is_outstanding(), "an executor does one request at a time");
  if_aborted_ = cancelled(request, epoch_);
  const auto enqueue_unless_recycle = [this](auto& one) {
    if constexpr (!std::is_same_v<decltype(one), request::Recycle&>) requests_.push_back(std::move(one));
  };
  std::visit(enqueue_unless_recycle, request);
  poll_set_.wake_in(Milliseconds(0));
}

void WorkerExecutor::close(ProblemId id) {
  ATTUNE_CHECK(!is_outstanding(), "problem {} is closed while a request is outstanding", id);
  if (!worker_ || !problems_.all().contains(id)) return problems_.close(id);
  requests_.push_back(request::Close{id});
  poll_set_.wake_in(Milliseconds(0));
}

void WorkerExecutor::drop(Slot slot) {
  ATTUNE_CHECK(!is_outstanding(), "slot {} is dropped while a request is outstanding", slot);
  if (!worker_ || !problems_.home_of(slot)) return problems_.drop(slot);
  // A round of the race drops many, so all that wait for the worker go in one request.
  const bool is_first_sent = asked_ && requests_.size() == 1;
  auto* const waiting = requests_.empty() || is_first_sent ? nullptr : std::get_if<request::Drop>(&requests_.back());
  if (waiting != nullptr)
    waiting->slots.push_back(slot);
  else
    requests_.push_back(request::Drop{{slot}});
  poll_set_.wake_in(Milliseconds(0));
}

std::optional<Answer> WorkerExecutor::take() {
  poll_set_.wake_in(std::nullopt);
  try {
    serve_spare();
    while (!requests_.empty() && answer_first()) continue;
    const bool recycles = requests_.empty() && if_aborted_ && std::holds_alternative<RecycleAnswer>(*if_aborted_);
    if (recycles && has_device_for(SharedDevice::Use::prepare)) {
      if (worker_) time_[Activity::wait].wall_s += seconds_between(told_at_, Clock::now());
      time_.take_from_wait(Activity::turn, std::exchange(queued_s_, 0));
      replace();
      restore();  // A death in it is treated like any other.
      answer_ = RecycleAnswer{};
      leave_device();
    }
  } catch (const StopRequest&) {
    abort();
  } catch (...) {
    abort();
    answer_.reset();
    throw;
  }
  poll_set_.wake_in(std::nullopt);
  if (!answer_) return std::nullopt;
  if_aborted_.reset();
  if (auto* recycled = std::get_if<RecycleAnswer>(&*answer_)) recycled->epoch = epoch_;
  return std::exchange(answer_, std::nullopt);
}

/// Handles the first request: it is answered, or will be sent again after a death. False if the worker has not answered
/// yet.
bool WorkerExecutor::answer_first() {
  const WorkerRequest& request = requests_.front();
  const auto* admit = as<request::Admit>(request);
  bool settled = admit != nullptr && !problems_.all().contains(admit->id);
  if (settled) {
    answer_ = if_aborted_;
    if (const Outcome* why = problems_.why_lost(admit->id)) std::get<AdmitAnswer>(*answer_).verified = *why;
  } else {
    if (!asked_ && waits_for_spare(request)) {
      if (!waits_since_ && !held_since_) waits_since_ = Clock::now();
      return false;
    }
    if (waits_since_) waited_s_ = seconds_between(*std::exchange(waits_since_, std::nullopt), Clock::now());
    const bool samples = as<request::Sample>(request) != nullptr;
    if (!has_device_for(samples ? SharedDevice::Use::sample : SharedDevice::Use::prepare)) return false;
    if (!asked_ && !send(request)) return false;
    const auto looked = Clock::now();
    auto event = worker_->take();
    if (!event) return false;
    asked_ = false;
    if (const auto death = death_of(request, *event)) {
      recoveries_.died(looked);
      settled = handle_death(request, *death);
    } else {
      settled = settle(request, std::get<Reply>(*event));
    }
  }
  if (!settled) return true;
  requests_.pop_front();
  num_deaths_of_request_ = 0;
  leave_device();
  return true;
}

void WorkerExecutor::abort() {
  replace();
  leave_device();
  problems_ = {};
  requests_.clear();
  asked_ = false;
  expected_.reset();
  waits_since_.reset();
  held_since_.reset();
  recoveries_.give_up();
  waited_s_ = queued_s_ = 0;
  num_deaths_of_request_ = 0;
  reloading_.reset();
  if (if_aborted_) answer_ = std::exchange(if_aborted_, std::nullopt);
  poll_set_.wake_in(Milliseconds(0));
}

/// Sends a request to a worker that has everything it should have. False: the request waits until the change of workers
/// is over.
bool WorkerExecutor::send(const WorkerRequest& request) {
  // With two problems open there may be no good moment; then a worker is replaced anyway, which costs the other problem
  // its final.
  const uint32_t limit = problems_.all().empty() ? options_.max_admissions : 2 * options_.max_admissions;
  if (worker_ && as<request::Open>(request) && num_admissions_ >= limit) replace();
  const auto* admit = as<request::Admit>(request);
  const bool alone =
      isolated_problem_ && admit != nullptr && admit->id == *isolated_problem_ && problems_.is_blamed(admit->slot);
  if (worker_ && isolated_problem_ && !alone) {
    if (const auto death = bring_back()) record_death(*death);
  }
  if (!worker_) restore();
  if (waits_for_end(request) || waits_for_spare(request)) {
    if (!held_since_) held_since_ = Clock::now();
    return false;
  }
  if (held_since_) note_change(*std::exchange(held_since_, std::nullopt));
  ask(request);
  asked_ = true;
  if (admit != nullptr && is_told_ahead_) start_spare();
  return true;
}

/// Asks the worker. If a problem's candidates are listed already, the worker opens it without listing them.
void WorkerExecutor::ask(const WorkerRequest& request) {
  const auto* open = as<request::Open>(request);
  if (open != nullptr && expected_ && expected_->problem == open->problem) expected_.reset();
  is_limited_ = open != nullptr && !open->candidates && listing_ && listing_->problem == open->problem;
  if (!is_limited_) return worker_->ask(request, longest_step(request));
  request::Open limited = *open;
  limited.candidates.emplace();
  worker_->ask(limited, longest_step(request));
}

/// Adds the time that a reply reports. Time from before the worker took over is charged to no problem.
void WorkerExecutor::note_time(Reply& reply) {
  std::visit(
      [this](auto& answer) {
        if constexpr (requires { answer.time; }) {
          TimeUse time = std::exchange(answer.time, {});
          const auto now = Clock::now();
          double& wait_s = time[Activity::wait].wall_s;
          wait_s -= std::clamp(time.wall_s() - seconds_between(told_at_, now), 0.0, wait_s);
          const bool is_open = std::is_same_v<decltype(answer), OpenAnswer&>;
          time.take_from_wait(is_open ? Activity::list : Activity::start, std::exchange(waited_s_, 0));
          time.take_from_wait(Activity::turn, std::exchange(queued_s_, 0));
          time_ += time;
          told_at_ = now;
        }
      },
      reply);
}

/// Throws StopRequest.
void WorkerExecutor::throw_if_stopped() const {
  const bool is_aborted = tick_ && tick_();
  if (is_aborted || (options_.stopped && options_.stopped())) throw StopRequest();
}

/// Returns the answer of a running worker, or its death. Throws StopRequest.
WorkerProcess::Event WorkerExecutor::exchange(const WorkerRequest& request) {
  await_end(request);
  worker_->ask(request, longest_step(request));
  for (;;) {
    throw_if_stopped();
    serve_spare();
    const auto looked = Clock::now();
    if (auto event = worker_->take()) {
      if (auto death = death_of(request, *event)) {
        if (!as<request::Hello>(request)) recoveries_.died(looked);
        return *std::move(death);
      }
      note_time(std::get<Reply>(*event));
      return *std::move(event);
    }
    poll_set_.wait(kLook);
  }
}

/// Depends on the problem of the request; without one, on the largest open problem.
Milliseconds WorkerExecutor::longest_step(const WorkerRequest& request) const {
  if (const auto* open = as<request::Open>(request))
    return std::min(options_.longest, step_limit(open->problem, open->protocol, device_));
  if (as<request::Hello>(request)) return options_.start;
  if (problems_.all().empty()) return options_.longest;
  Milliseconds longest{0};
  for (const auto& [id, one] : problems_.all()) longest = std::max(longest, one.longest_step);
  return std::min(options_.longest, longest);
}

void WorkerExecutor::start() {
  const auto began = Clock::now();
  if (!take_over_from_spare()) start_fresh();
  num_admissions_ = 0;
  told_at_ = Clock::now();
  recoveries_.worker_is_up(told_at_);
  time_[Activity::start].wall_s += seconds_between(began, told_at_);
  // While the worker is being restored; a start later on would delay samples.
  if (!problems_.all().empty()) start_spare();
}

void WorkerExecutor::fail_start(const reply::Failure& failed) const {
  const std::string why = in_users_words(failed.message, options_);
  if (failed.code == ErrorCode::device) throw DeviceLost(why);
  fail(failed.code, "{}", why);
}

void WorkerExecutor::start_fresh() {
  std::string why;
  int num_failed_probes = 0;
  for (int i = 0; i < kStarts; ++i) {
    set_worker(nullptr);
    // The next try must not fail because of resources that an earlier worker's process still holds.
    if (i > 0 || needs_memory_of_ending()) wait_for_end();
    const bool is_beside_end = ending_.has_value();
    set_worker(std::make_unique<WorkerProcess>(options_));
    auto event = exchange(hello());
    if (const auto* death = std::get_if<Death>(&event)) {
      why = death->outcome.detail;
      continue;
    }
    auto& answer = std::get<Reply>(event);
    if (const auto* failed = std::get_if<reply::Failure>(&answer)) {
      // A failed probe may be due to an earlier worker, whose context still ends. A failure while that worker's process
      // exists proves nothing about the device.
      if (failed->code != ErrorCode::device || (!is_beside_end && ++num_failed_probes == kMaxFailedProbes))
        fail_start(*failed);
      continue;
    }
    // The facts of the first worker stay valid: a second measurement of the bandwidth must not change keys or rules.
    if (device_.id.empty()) {
      free_bytes_ = std::get<reply::Ready>(answer).free_bytes;
      device_ = std::get<reply::Ready>(std::move(answer)).device;
      if (!options_.name.empty()) device_.id = options_.name;
    }
    return;
  }
  set_worker(nullptr);
  throw DeviceLost(fmt::format("no worker starts on {}: {}", users_name(options_), why));
}

/// Starts a worker and restores everything that was open and admitted, except candidates that kill it again.
void WorkerExecutor::restore() {
  for (uint32_t num_unattributed = 0;;) {
    start();
    const auto death = bring_back();
    if (!death) return recoveries_.everything_is_back(Clock::now());
    record_death(*death);
    if (death->blamed != 0 || ++num_unattributed < kMaxUnattributedDeaths) continue;
    while (!problems_.all().empty()) problems_.lose_all(problems_.all().begin()->first, unattributed(death->outcome));
  }
}

/// Restores only one problem, for the second try of a candidate that may have died from another's leftovers.
void WorkerExecutor::restore_for(ProblemId id) {
  start();
  isolated_problem_ = id;
  const auto opened = reopen(problems_.all().at(id));
  const auto* answer = std::get_if<Reply>(&opened);
  const auto* again = answer != nullptr ? std::get_if<OpenAnswer>(answer) : nullptr;
  if (again != nullptr && again->refused.empty() && !again->busy) return recoveries_.everything_is_back(Clock::now());
  isolated_problem_.reset();
  restore();
}

WorkerProcess::Event WorkerExecutor::reopen(const OpenProblems::OpenProblem& one) {
  auto opened = exchange(one.reopening());
  const auto* reply = std::get_if<Reply>(&opened);
  const auto* answer = reply != nullptr ? std::get_if<OpenAnswer>(reply) : nullptr;
  return answer != nullptr && makes_room(answer->lacks_memory) ? exchange(one.reopening()) : std::move(opened);
}

WorkerProcess::Event WorkerExecutor::readmit(const request::Admit& one) {
  auto admitted = exchange(one);
  const auto* reply = std::get_if<Reply>(&admitted);
  const auto* answer = reply != nullptr ? std::get_if<AdmitAnswer>(reply) : nullptr;
  return answer != nullptr && makes_room(answer->lacks_memory) ? exchange(one) : std::move(admitted);
}

std::optional<Death> WorkerExecutor::bring_back() {
  const auto isolated = std::exchange(isolated_problem_, std::nullopt);
  for (const auto& [id, one] : std::map(problems_.all())) {
    if (id != isolated) {
      auto opened = reopen(one);
      if (const auto* death = std::get_if<Death>(&opened)) return *death;
      const auto& answer = std::get<OpenAnswer>(std::get<Reply>(opened));
      if (!answer.refused.empty() || answer.busy) {
        problems_.lose_all(id, {.status = Status::device_lost,
                                .detail = "the problem could not be opened again after a death: " + answer.refused});
        continue;
      }
    }
    for (const auto& [slot, admission] : one.slots) {
      if (id == isolated && slot == isolated_slot_) continue;
      auto admitted = readmit({id, slot, admission});
      if (const auto* death = std::get_if<Death>(&admitted)) return *death;
      const auto& again = std::get<AdmitAnswer>(std::get<Reply>(admitted));
      if (!again.verified.ok()) problems_.lose(slot, again.verified);
    }
  }
  return std::nullopt;
}

/// `sampled`: the death was in a schedule, where a second death does not disqualify yet. True if it is the second one
/// with the same announced candidate or library.
bool WorkerExecutor::record_death(const Death& death, bool sampled) {
  replace();
  ++num_deaths_;
  if (death.blamed == 0 || !problems_.blame(death.blamed)) return false;
  if (death.blamed >= kLibrarySlots) {
    skipped_.emplace(death.blamed - kLibrarySlots, "its worker died twice while opening it: " + death.outcome.detail);
    end_spare();  // The spare worker does not know of it.
  } else if (!sampled) {
    problems_.disqualify(death.blamed, death.outcome);
  }
  return true;
}

/// After a second death in sampling with the same announced candidate, the candidate that dies alone is at fault.
void WorkerExecutor::find_faulty_slot(const request::Sample& sample, const Death& death) {
  std::vector<Slot> suspects = {death.blamed};
  for (const Turn& turn : sample.schedule) {
    if (std::find(suspects.begin(), suspects.end(), turn.slot) == suspects.end()) suspects.push_back(turn.slot);
  }
  for (const Slot slot : suspects) {
    const auto alone = take_turns_alone(slot, sample.schedule, options_.alone / static_cast<int>(suspects.size()));
    replace();
    if (!alone || alone->blamed != slot) continue;
    ++num_deaths_;
    return problems_.disqualify(slot, alone->outcome);
  }
  if (problems_.acquit_survivor(death.blamed)) problems_.lose(death.blamed, unattributed(death.outcome));
}

/// Repeats a candidate's turns in a fresh worker that runs nothing else. Returns its death, if it died.
std::optional<Death> WorkerExecutor::take_turns_alone(Slot slot, const std::vector<Turn>& schedule,
                                                      Milliseconds timeout) {
  constexpr size_t kTurns = 64;
  const auto home = problems_.home_of(slot);
  if (!home) return std::nullopt;
  const OpenProblems::OpenProblem& one = problems_.all().at(*home);
  const Turn turn = *std::find_if(schedule.begin(), schedule.end(), [&](const Turn& any) { return any.slot == slot; });
  start();
  const auto death_in = [this](const WorkerRequest& request) -> std::optional<Death> {
    const auto answer = exchange(request);
    const auto* death = std::get_if<Death>(&answer);
    return death != nullptr ? std::optional(*death) : std::nullopt;
  };
  if (auto death = death_in(one.opened)) return death;
  if (auto death = death_in(request::Admit{*home, slot, one.slots.at(slot)})) return death;
  const auto began = Clock::now();
  for (size_t i = 0; i < kTurns && Clock::now() - began < timeout; ++i) {
    if (auto death = death_in(request::Sample{{turn}})) return death;
  }
  return std::nullopt;
}

/// False if the request must be made again.
bool WorkerExecutor::settle(const WorkerRequest& request, Reply& reply) {
  note_time(reply);
  forget(request);
  if (auto* opened = std::get_if<OpenAnswer>(&reply)) {
    if (!settle_opened(std::get<request::Open>(request), *opened)) return false;
  } else if (auto* admitted = std::get_if<AdmitAnswer>(&reply)) {
    if (makes_room(admitted->lacks_memory)) return false;
    ++num_admissions_;
    const auto& admit = std::get<request::Admit>(request);
    if (wants_fresh_context(admit.slot, admitted->verified.status)) return false;
    isolated_slot_ = admitted->verified.ok() ? admit.slot : 0;
    if (admitted->verified.ok()) problems_.admit(admit, *admitted);
    problems_.acquit(admit.slot);  // an earlier death was not its fault
    if (admitted->corrupted) replace();
    answer_ = std::move(*admitted);
  } else if (auto* sampled = std::get_if<SampleAnswer>(&reply)) {
    sampled->epoch = epoch_;
    for (const auto& [slot, outcome] : sampled->failed) problems_.drop(slot);
    problems_.tell_lost(std::get<request::Sample>(request).schedule, sampled->failed);
    if (sampled->suspect) replace();
    answer_ = std::move(*sampled);
  }
  // Processes that candidates left behind must not disturb the next ones. If the time is too short, the rest is killed
  // the next time.
  const bool has_run = as<request::Admit>(request) || as<request::Sample>(request);
  if (has_run && options_.strays != nullptr) options_.strays->kill();
  return true;
}

bool WorkerExecutor::settle_opened(const request::Open& open, OpenAnswer& opened) {
  if (makes_room(opened.lacks_memory)) return false;
  if (opened.lacks_memory) opened.refused = in_users_words(std::move(opened.refused), options_);
  const bool is_open = opened.refused.empty() && !opened.busy;
  if (is_open && is_limited_) {
    const bool agrees = complete(opened, *listing_);
    listing_.reset();
    if (!agrees) {
      requests_.push_front(request::Close{open.id});
      return false;
    }
  }
  if (is_open) problems_.open(open, step_limit(open.problem, open.protocol, device_));
  answer_ = std::move(opened);
  return true;
}

/// Returns true if a death settles the request; if false, it is sent again.
bool WorkerExecutor::handle_death(const WorkerRequest& request, const Death& death) {
  const auto* sample = as<request::Sample>(request);
  const bool is_second = record_death(death, sample != nullptr);
  forget(request);  // After record_death(): a candidate that died while it was closed or dropped leaves no record.
  const auto* admission = as<request::Admit>(request);
  if (admission != nullptr && death.blamed == admission->slot && !is_second) {
    restore_for(admission->id);
    return false;
  }
  if (sample != nullptr && is_second) find_faulty_slot(*sample, death);
  restore();
  if (sample != nullptr) {
    if (death.blamed == 0) {
      if (++num_deaths_of_request_ < kMaxUnattributedDeaths) return false;
      for (const Turn& turn : sample->schedule) problems_.lose(turn.slot, unattributed(death.outcome));
    }
    SampleAnswer nothing{.epoch = epoch_, .interrupted = true};
    problems_.tell_lost(sample->schedule, nothing.failed);
    answer_ = std::move(nothing);
    return true;
  }
  const auto* open = as<request::Open>(request);
  const bool its_own = admission != nullptr && death.blamed == admission->slot;
  if ((admission != nullptr || open != nullptr) && !its_own && ++num_deaths_of_request_ < kMaxUnattributedDeaths)
    return false;
  if (admission != nullptr) {
    problems_.acquit(admission->slot);
    answer_ = AdmitAnswer{.slot = admission->slot, .verified = its_own ? death.outcome : unattributed(death.outcome)};
  }
  if (open != nullptr) answer_ = OpenAnswer{.problem = open->id, .refused = death.outcome.detail, .lost = true};
  return true;
}

/// Ensures that a closed problem or dropped slot is not restored.
void WorkerExecutor::forget(const WorkerRequest& request) {
  if (const auto* close = as<request::Close>(request)) problems_.close(close->id);
  if (const auto* drop = as<request::Drop>(request)) {
    for (const Slot slot : drop->slots) problems_.drop(slot);
  }
}

}  // namespace attune
