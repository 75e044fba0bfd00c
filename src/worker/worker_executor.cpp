// SPDX-License-Identifier: MIT
#include "worker/worker_executor.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "measure/cancelled.h"
#include "worker/step_limit.h"

namespace attune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kMaxDeaths = 2;  // deaths of one candidate
/// Deaths without a blamed candidate, per request or per restoration of all slots.
constexpr uint32_t kMaxUnattributedDeaths = 3;
constexpr int kStarts = 3;  // attempts to start a worker
constexpr Milliseconds kForever{1'000'000'000};
constexpr Milliseconds kLook{100};  // interval for checking whether to stop

/// Thrown during the recovery from a death; caught before the caller sees it.
struct StopRequested {};

Milliseconds left_until(Clock::time_point end) {
  return std::max(std::chrono::ceil<Milliseconds>(end - Clock::now()), Milliseconds(0));
}

/// Outcome of a death without a blamed candidate; it proves nothing about the candidates.
Outcome unattributed(const Outcome& outcome) {
  return {.status = Status::device_lost, .detail = "no candidate is to blame: " + outcome.detail};
}

template <typename Wanted>
const Wanted* as(const Request& request) {
  return std::get_if<Wanted>(&request);
}

}  // namespace

WorkerExecutor::WorkerExecutor(WorkerOptions options) : options_(std::move(options)) {
  try {
    start();
  } catch (const StopRequested&) {
    fail(ErrorCode::unavailable, "stopped before a worker started on {}", options_.device);
  }
}
WorkerExecutor::~WorkerExecutor() = default;

void WorkerExecutor::open(ProblemId id, const Problem& problem, const Protocol& protocol) {
  requests_.push_back(request::Open{id, problem, protocol});
}
void WorkerExecutor::close(ProblemId id) { requests_.push_back(request::Close{id}); }
void WorkerExecutor::admit(ProblemId id, Slot slot, const Admission& admission) {
  requests_.push_back(request::Admit{id, slot, admission});
}
void WorkerExecutor::drop(Slot slot) { requests_.push_back(request::Drop{slot}); }
void WorkerExecutor::sample(std::vector<Turn> schedule) { requests_.push_back(request::Sample{std::move(schedule)}); }

std::vector<pid_t> WorkerExecutor::processes() const {
  return worker_ ? std::vector<pid_t>{worker_->pid()} : std::vector<pid_t>{};
}

std::vector<Event> WorkerExecutor::wait(Milliseconds timeout) {
  const auto end = Clock::now() + timeout;
  try {
    while (events_.empty() && !requests_.empty() && answer_first(end)) continue;
    if (recycling_ && events_.empty() && requests_.empty()) renew();
  } catch (const StopRequested&) {
    abort();
  }
  return std::exchange(events_, {});
}

/// Handles the first request: it is answered, or will be sent again after a death. False if neither happened before
/// `end`.
bool WorkerExecutor::answer_first(Clock::time_point end) {
  const Request& request = requests_.front();
  bool settled = is_obsolete(request);
  if (settled) {
    forget(request);
    cancel(request);
  } else {
    if (!asked_) begin(request);
    auto news = worker_->wait(left_until(end));
    if (std::holds_alternative<std::monostate>(news)) return false;
    asked_ = false;
    const auto death = death_of(request, news);
    settled = !death || recover(request, *death);
    if (!death) settle(request, std::get<Reply>(news));
  }
  if (!settled) return true;
  requests_.pop_front();
  num_deaths_of_request_ = 0;
  return true;
}

void WorkerExecutor::abort() {
  worker_.reset();
  ++epoch_;
  asked_ = false;
  num_deaths_of_request_ = 0;
  for (const Request& request : std::exchange(requests_, {})) cancel(request);
  if (std::exchange(recycling_, false)) events_.emplace_back(Recycled{epoch_});
  open_.clear();
  deaths_.clear();
  lost_.clear();
  num_survivals_.clear();
  broken_.clear();
  isolated_problem_.reset();
}

/// True if the problem or slot of the request does not exist (any more).
bool WorkerExecutor::is_obsolete(const Request& request) const {
  if (const auto* close = as<request::Close>(request)) return !open_.contains(close->id);
  if (const auto* admit = as<request::Admit>(request)) return !open_.contains(admit->id);
  if (const auto* drop = as<request::Drop>(request)) {
    return std::none_of(open_.begin(), open_.end(),
                        [&](const auto& one) { return one.second.slots.contains(drop->slot); });
  }
  return false;
}

void WorkerExecutor::begin(const Request& request) {
  // With two problems open there may be no good moment; then a worker is replaced anyway, which costs the other problem
  // its final.
  const uint32_t limit = open_.empty() ? options_.max_admissions : 2 * options_.max_admissions;
  if (worker_ && as<request::Open>(request) && num_admissions_ >= limit) replace();
  const auto* admit = as<request::Admit>(request);
  const bool alone =
      isolated_problem_ && admit != nullptr && admit->id == *isolated_problem_ && deaths_.contains(admit->slot);
  if (!worker_)
    restore();
  else if (isolated_problem_ && !alone)
    complete();
  worker_->ask(request, longest_step(request));
  asked_ = true;
}

/// The next request starts a fresh worker.
void WorkerExecutor::replace() {
  worker_.reset();
  isolated_problem_.reset();
  ++epoch_;
}

/// Answers recycle(). A death while everything is restored is treated like any other.
void WorkerExecutor::renew() {
  replace();
  restore();
  recycling_ = false;
  events_.emplace_back(Recycled{epoch_});
}

/// Returns the reason to end a worker's life: its death, a mismatched answer, or its failure to continue.
std::optional<Death> WorkerExecutor::death_of(const Request& request, const WorkerProcess::Event& news) {
  if (const auto* death = std::get_if<Death>(&news)) return *death;
  const auto* answer = std::get_if<Reply>(&news);
  if (answer == nullptr) return Death{{.status = Status::timed_out, .detail = "the worker does not answer"}, 0};
  if (!fits(request, *answer))
    return Death{{.status = Status::crashed, .detail = "the worker's answer does not match the request"}, 0};
  const auto* failed = std::get_if<reply::Failed>(answer);
  if (failed == nullptr || as<request::Hello>(request)) return std::nullopt;
  return Death{{.status = Status::crashed, .detail = "the worker cannot continue: " + failed->message}, 0};
}

/// Returns the answer of a running worker, or its death. Throws StopRequested.
std::variant<Reply, Death> WorkerExecutor::exchange(const Request& request, Milliseconds timeout) {
  const auto end = Clock::now() + timeout;
  WorkerProcess::Event news;
  worker_->ask(request, longest_step(request));
  do {
    if (options_.stopped && options_.stopped()) throw StopRequested();
    news = worker_->wait(std::min(left_until(end), kLook));
  } while (std::holds_alternative<std::monostate>(news) && Clock::now() < end);
  if (auto death = death_of(request, news)) return std::move(*death);
  return std::move(std::get<Reply>(news));
}

/// Depends on the problem of the request; without one, on the largest open problem.
Milliseconds WorkerExecutor::longest_step(const Request& request) const {
  if (const auto* open = as<request::Open>(request))
    return std::min(options_.longest, step_limit(open->problem, open->protocol, device_));
  if (as<request::Hello>(request)) return options_.start;
  if (open_.empty()) return options_.longest;
  Milliseconds longest{0};
  for (const auto& [id, opening] : open_)
    longest = std::max(longest, step_limit(opening.problem, opening.protocol, device_));
  return std::min(options_.longest, longest);
}

void WorkerExecutor::start() {
  std::string why;
  for (int i = 0; i < kStarts; ++i) {
    worker_.reset();
    worker_ = std::make_unique<WorkerProcess>(options_);
    auto news = exchange(request::Hello{options_.device, options_.build, options_.cores, skipped_}, options_.start);
    if (const auto* death = std::get_if<Death>(&news)) {
      why = death->outcome.detail;
      continue;
    }
    auto& answer = std::get<Reply>(news);
    if (const auto* failed = std::get_if<reply::Failed>(&answer)) fail(failed->code, "{}", failed->message);
    num_admissions_ = 0;
    // The facts of the first worker stay valid: a second measurement of the bandwidth must not change keys or rules.
    if (device_.id.empty()) {
      device_ = std::get<reply::Ready>(std::move(answer)).device;
      if (!options_.name.empty()) device_.id = options_.name;
    }
    return;
  }
  worker_.reset();
  fail(ErrorCode::device, "no worker starts on {}: {}", options_.device, why);
}

/// Starts a worker and restores everything that was open and admitted, except candidates that kill it again.
void WorkerExecutor::restore() {
  for (uint32_t num_unattributed = 0;;) {
    start();
    const auto death = bring_back();
    if (!death) return;
    record_death(*death);
    if (death->blamed != 0 || ++num_unattributed < kMaxUnattributedDeaths) continue;
    while (!open_.empty()) lose_all(open_.begin()->first, unattributed(death->outcome));
  }
}

/// Restores only one problem, for the second try of a candidate that may have died from another's leftovers.
void WorkerExecutor::restore_for(ProblemId id) {
  start();
  const auto found = open_.find(id);
  if (found == open_.end()) return;
  isolated_problem_ = id;
  auto opened = exchange(request::Open{id, found->second.problem, found->second.protocol}, kForever);
  const auto* answer = std::get_if<Reply>(&opened);
  const auto* again = answer != nullptr ? std::get_if<Opened>(answer) : nullptr;
  if (again != nullptr && again->refused.empty() && !again->busy) return;
  isolated_problem_.reset();
  restore();
}

/// Restores the other problems beside the one that was alone.
void WorkerExecutor::complete() {
  if (const auto death = bring_back()) {
    record_death(*death);
    restore();
  }
}

std::optional<Death> WorkerExecutor::bring_back() {
  std::vector<ProblemId> ids;
  for (const auto& [id, opening] : open_) ids.push_back(id);
  const auto isolated = std::exchange(isolated_problem_, std::nullopt);
  for (const ProblemId id : ids) {
    const OpenProblem opening = open_.at(id);
    if (id != isolated) {
      auto opened = exchange(request::Open{id, opening.problem, opening.protocol}, kForever);
      if (const auto* death = std::get_if<Death>(&opened)) return *death;
      const auto& answer = std::get<Opened>(std::get<Reply>(opened));
      if (!answer.refused.empty() || answer.busy) {
        lose_all(id, {.status = Status::device_lost,
                      .detail = "the problem could not be opened again after a death: " + answer.refused});
        continue;
      }
    }
    for (const auto& [slot, admission] : opening.slots) {
      if (id == isolated && slot == isolated_slot_) continue;
      auto admitted = exchange(request::Admit{id, slot, admission}, kForever);
      if (const auto* death = std::get_if<Death>(&admitted)) return *death;
      const auto& again = std::get<Admitted>(std::get<Reply>(admitted));
      if (!again.verified.ok()) lose(slot, again.verified);
    }
  }
  return std::nullopt;
}

/// `sampled`: the death was in a schedule, where a second death does not disqualify yet.
void WorkerExecutor::record_death(const Death& death, bool sampled) {
  worker_.reset();
  ++epoch_;
  ++num_deaths_;
  isolated_problem_.reset();
  if (death.blamed == 0 || ++deaths_[death.blamed] < kMaxDeaths) return;
  if (sampled && death.blamed < kLibrarySlots) return;
  if (death.blamed >= kLibrarySlots) {
    skipped_.emplace(death.blamed - kLibrarySlots, "its worker died twice while opening it: " + death.outcome.detail);
    return;
  }
  disqualify(death.blamed, death.outcome);
}

/// Clears the other slots: the disqualified candidate may have caused their deaths, by a thread that it left behind or
/// memory that it overwrote.
void WorkerExecutor::disqualify(Slot slot, const Outcome& outcome) {
  std::erase_if(deaths_, [&](const auto& one) { return one.first < kLibrarySlots && one.first != slot; });
  lose(slot, outcome);
}

/// After a second death in sampling with the same announced candidate, the candidate that dies alone is at fault.
void WorkerExecutor::find_faulty_slot(const request::Sample& sample, const Death& death) {
  std::vector<Slot> suspects = {death.blamed};
  for (const Turn& turn : sample.schedule) {
    if (std::find(suspects.begin(), suspects.end(), turn.slot) == suspects.end()) suspects.push_back(turn.slot);
  }
  for (const Slot slot : suspects) {
    const auto alone = take_turns_alone(slot, sample.schedule, options_.alone / static_cast<int>(suspects.size()));
    worker_.reset();
    ++epoch_;
    if (!alone || alone->blamed != slot) continue;
    ++num_deaths_;
    return disqualify(slot, alone->outcome);
  }
  deaths_.erase(death.blamed);
  if (++num_survivals_[death.blamed] >= kMaxDeaths) lose(death.blamed, unattributed(death.outcome));
}

/// Repeats a candidate's turns in a fresh worker that runs nothing else. Returns its death, if it died.
std::optional<Death> WorkerExecutor::take_turns_alone(Slot slot, const std::vector<Turn>& schedule,
                                                      Milliseconds timeout) {
  constexpr size_t kTurns = 64;
  const auto home =
      std::find_if(open_.begin(), open_.end(), [&](const auto& one) { return one.second.slots.contains(slot); });
  if (home == open_.end()) return std::nullopt;
  const auto& [id, opening] = *home;
  const Turn turn = *std::find_if(schedule.begin(), schedule.end(), [&](const Turn& one) { return one.slot == slot; });
  start();
  const auto death_in = [this](const Request& request) -> std::optional<Death> {
    const auto answer = exchange(request, kForever);
    const auto* death = std::get_if<Death>(&answer);
    return death != nullptr ? std::optional(*death) : std::nullopt;
  };
  if (auto death = death_in(request::Open{id, opening.problem, opening.protocol})) return death;
  if (auto death = death_in(request::Admit{id, slot, opening.slots.at(slot)})) return death;
  const auto began = Clock::now();
  for (size_t i = 0; i < kTurns && Clock::now() - began < timeout; ++i) {
    if (auto death = death_in(request::Sample{{turn}})) return death;
  }
  return std::nullopt;
}

/// Does nothing if the slot was not admitted.
void WorkerExecutor::lose(Slot slot, const Outcome& outcome) {
  for (auto& [id, opening] : open_) {
    if (opening.slots.erase(slot) == 0) continue;
    lost_.push_back({id, slot, outcome});
    deaths_.erase(slot);
  }
}

void WorkerExecutor::lose_all(ProblemId id, const Outcome& outcome) {
  const OpenProblem opening = std::move(open_.extract(id).mapped());
  for (const auto& [slot, admission] : opening.slots) {
    lost_.push_back({id, slot, outcome});
    deaths_.erase(slot);
  }
  broken_.insert_or_assign(id, outcome);
}

void WorkerExecutor::settle(const Request& request, Reply& answer) {
  if (auto* opened = std::get_if<Opened>(&answer)) {
    const auto* open = as<request::Open>(request);
    if (opened->refused.empty() && !opened->busy && open != nullptr)
      open_[open->id] = {open->problem, open->protocol, {}};
    events_.emplace_back(std::move(*opened));
  } else if (auto* admitted = std::get_if<Admitted>(&answer)) {
    ++num_admissions_;
    const auto& admit = std::get<request::Admit>(request);
    if (admitted->verified.ok()) {
      Admission again = admit.admission;
      again.verify = again.twice = false;
      again.output = admitted->output;
      open_.at(admit.id).slots.insert_or_assign(admit.slot, std::move(again));
      isolated_slot_ = admit.slot;
    } else {
      isolated_slot_ = 0;
    }
    deaths_.erase(admit.slot);  // an earlier death was not its fault
    if (admitted->corrupted) replace();
    end_strays();
    events_.emplace_back(std::move(*admitted));
  } else if (auto* sampled = std::get_if<Sampled>(&answer)) {
    sampled->epoch = epoch_;
    for (const auto& [slot, outcome] : sampled->failed) {
      for (auto& [id, opening] : open_) opening.slots.erase(slot);
      deaths_.erase(slot);
    }
    tell_lost(*as<request::Sample>(request), *sampled);
    end_strays();
    events_.emplace_back(std::move(*sampled));
  } else {
    forget(request);
  }
}

/// Kills processes that candidates left behind, so that they do not disturb the next ones. If the time is too short,
/// the rest is killed the next time.
void WorkerExecutor::end_strays() const {
  if (options_.strays != nullptr) options_.strays->kill();
}

bool WorkerExecutor::recover(const Request& request, const Death& death) {
  const auto began = Clock::now();
  const bool settled = handle_death(request, death);
  recoveries_.push_back(std::chrono::duration_cast<Milliseconds>(Clock::now() - began));
  return settled;
}

/// Returns true if a death settles the request; if false, it is sent again.
bool WorkerExecutor::handle_death(const Request& request, const Death& death) {
  const auto* sample = as<request::Sample>(request);
  record_death(death, sample != nullptr);
  forget(request);  // After record_death(): a candidate that died while it was closed or dropped leaves no record.
  const auto* admission = as<request::Admit>(request);
  if (admission != nullptr && death.blamed == admission->slot && deaths_[admission->slot] < kMaxDeaths) {
    restore_for(admission->id);
    return false;
  }
  if (sample != nullptr && death.blamed != 0 && deaths_[death.blamed] >= kMaxDeaths) find_faulty_slot(*sample, death);
  restore();
  if (sample != nullptr) {
    if (death.blamed == 0) {
      if (++num_deaths_of_request_ < kMaxUnattributedDeaths) return false;
      for (const Turn& turn : sample->schedule) lose(turn.slot, unattributed(death.outcome));
    }
    Sampled nothing{.epoch = epoch_, .interrupted = true};
    tell_lost(*sample, nothing);
    events_.emplace_back(std::move(nothing));
    return true;
  }
  if (admission != nullptr) return handle_admission_death(*admission, death);
  if (const auto* open = as<request::Open>(request)) {
    if (++num_deaths_of_request_ < kMaxUnattributedDeaths) return false;
    events_.emplace_back(Opened{.problem = open->id, .refused = death.outcome.detail, .lost = true});
  }
  return true;
}

/// Reports the slots of the schedule that were lost.
void WorkerExecutor::tell_lost(const request::Sample& sample, Sampled& sampled) {
  const auto concerns = [&](const LostSlot& lost) {
    return std::any_of(sample.schedule.begin(), sample.schedule.end(),
                       [&](const Turn& turn) { return turn.slot == lost.slot; });
  };
  const auto told =
      std::stable_partition(lost_.begin(), lost_.end(), [&](const LostSlot& one) { return !concerns(one); });
  for (auto lost = told; lost != lost_.end(); ++lost) sampled.failed.emplace_back(lost->slot, std::move(lost->outcome));
  lost_.erase(told, lost_.end());
}

bool WorkerExecutor::handle_admission_death(const request::Admit& admit, const Death& death) {
  const bool its_own = death.blamed == admit.slot;
  if (!its_own && ++num_deaths_of_request_ < kMaxUnattributedDeaths) return false;
  deaths_.erase(admit.slot);
  events_.emplace_back(Admitted{.slot = admit.slot, .verified = its_own ? death.outcome : unattributed(death.outcome)});
  return true;
}

void WorkerExecutor::cancel(const Request& request) {
  if (const auto* open = as<request::Open>(request)) events_.emplace_back(cancelled_opening(open->id));
  if (const auto* admit = as<request::Admit>(request)) {
    const auto broken = broken_.find(admit->id);
    Admitted answer = cancelled_admission(admit->slot);
    if (broken != broken_.end()) answer.verified = broken->second;
    events_.emplace_back(std::move(answer));
  }
  if (as<request::Sample>(request)) events_.emplace_back(cancelled_sampling());
}

/// Ensures that a closed problem or dropped slot is not restored.
void WorkerExecutor::forget(const Request& request) {
  if (const auto* close = as<request::Close>(request)) {
    if (const auto found = open_.find(close->id); found != open_.end()) {
      for (const auto& [slot, admission] : found->second.slots) {
        deaths_.erase(slot);
        num_survivals_.erase(slot);
      }
      open_.erase(found);
    }
    broken_.erase(close->id);
    std::erase_if(lost_, [&](const LostSlot& lost) { return lost.problem == close->id; });
  }
  if (const auto* drop = as<request::Drop>(request)) {
    for (auto& [id, opening] : open_) opening.slots.erase(drop->slot);
    deaths_.erase(drop->slot);
    num_survivals_.erase(drop->slot);
    std::erase_if(lost_, [&](const LostSlot& lost) { return lost.slot == drop->slot; });
  }
}

}  // namespace attune
