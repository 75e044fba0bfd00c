// SPDX-License-Identifier: MIT
#include "tuner/device_run.h"

#include <algorithm>
#include <utility>

#include "device/device_kind.h"
#include "tuner/problem/cost_forecast.h"

namespace attune {
namespace {

constexpr double kForever = 1e300;
/// A request that is outstanding this long after the end of the budget is aborted: its own deadlines may be a minute.
constexpr double kMaxOverrunS = 5;
/// A problem is cut after this many times its share of the budget, so that it cannot use up the time of the others.
constexpr double kMaxShares = 2;

}  // namespace

DeviceRun::DeviceRun(TuningContext& context, SharedState& shared)
    : context_(context),
      source_(shared.source),
      num_devices_(static_cast<double>(shared.num_devices)),
      max_open_(device_kind(context.executor.device().kind).max_open_problems),
      has_begun_(shared.has_begun),
      began_s_(context.clock.now_s()) {
  context_.left_s = [this] { return left_s(); };
  context_.tick = [this, tick = std::move(context_.tick)] { return tick() || left_s() < -kMaxOverrunS; };
  context_.must_stop = [this] {
    context_.observer.tick();
    return context_.interrupted() || left_s() <= 0;
  };
}

template <typename Condition>
DeviceRun::Active* DeviceRun::first_of(const Condition& condition) {
  const double now_s = context_.clock.now_s();
  for (Active& one : active_) {
    if (one.run->ready_at_s() > now_s || one.run->needs_fresh_worker() || one.run->next_part() != nullptr) continue;
    if (condition(*one.run)) return &one;
  }
  return nullptr;
}

std::string DeviceRun::run() {
  std::string ended;
  while (!active_.empty() || (ended.empty() && (next_ || source_.remaining().num_waiting > 0))) {
    context_.observer.tick();
    if (context_.interrupted())
      end_all(ended = "interrupted before a decision", &ProblemRun::abandon);
    else if (left_s() <= 0)
      end_all(ended = "the budget ran out before a decision", &ProblemRun::cut);
    if (!ended.empty()) give_back_next();
    if (active_.empty() && !ended.empty()) break;
    abandon_lost();
    if (ended.empty() && may_open_ahead() && begin_next())
      step(active_.back());
    else if (Active* ready = next_ready())
      step(*ready);
    else if (num_open() < max_open_ && (begin_part() || (ended.empty() && begin_next())))
      continue;
    else if (Active* compiling = next_compiling())
      await_compilers(*compiling);
    else if (Active* waiting = next_without_worker())
      renew_worker(*waiting);
    else
      wait_for_active();
  }
  return ended;
}

void DeviceRun::give_back() {
  for (const Active& one : active_) {
    if (!one.is_part) source_.give_back(one.id);
  }
  active_.clear();
  give_back_next();
}

/// Runs whose problem the executor has open, or will be asked to open.
size_t DeviceRun::num_open() const {
  return static_cast<size_t>(
      std::count_if(active_.begin(), active_.end(), [](const Active& one) { return one.run->next_part() == nullptr; }));
}

double DeviceRun::left_s() const {
  return context_.options.budget_s > 0 ? began_s_ + context_.options.budget_s - context_.clock.now_s() : kForever;
}

/// The oldest active run that has work in the present worker now; null if all wait.
DeviceRun::Active* DeviceRun::next_ready() {
  return first_of([](ProblemRun& run) { return !run.waits_for_compiler(); });
}

/// The oldest active run that could go on if its kernels were there; null if none waits for a compiler alone.
DeviceRun::Active* DeviceRun::next_compiling() {
  return first_of([](ProblemRun& run) { return run.waits_for_compiler(); });
}

/// The oldest active run that waits for a fresh worker; null if none does. It is asked for when all other runs wait,
/// too. Then no race must be restored, no finals restart, and one recycle may serve several runs. With a budget, the
/// other runs wait once they have used up their shares, so this one keeps its own.
DeviceRun::Active* DeviceRun::next_without_worker() {
  for (Active& one : active_) {
    if (one.run->needs_fresh_worker()) return &one;
  }
  return nullptr;
}

/// Whether to open the next problem while another one is measured, so that its first kernels are compiled when its turn
/// comes. The last problems stay with the source for the other devices.
bool DeviceRun::may_open_ahead() {
  if (!context_.options.compiles_beside_measuring || context_.kernels == nullptr) return false;
  if (active_.empty() || num_open() >= max_open_) return false;
  const auto is_ahead = [](const Active& one) { return one.run->state() <= ProblemRun::State::admitting; };
  return std::none_of(active_.begin(), active_.end(), is_ahead) &&
         (next_ || static_cast<double>(source_.remaining().num_waiting) >= num_devices_);
}

void DeviceRun::await_compilers(Active& active) {
  active.run->await_compilers();
  context_.executor.take();  // Serves a worker that starts; other executors of the device may wait for it.
  hold_to_budget(active);
}

void DeviceRun::renew_worker(Active& active) {
  active.run->renew_worker();
  hold_to_budget(active);
}

bool DeviceRun::begin_next() {
  // The time left is divided by the expected costs of the problems. If it does not suffice for all, the first
  // problems still get the time they need, because half-measured shapes are useless.
  const double shares = std::max(1.0, num_devices_ * left_s() / source_.remaining().cost_s);
  const auto task = next_ ? std::exchange(next_, std::nullopt) : source_.take();
  if (!task) return false;
  active_.push_back({task->id, std::make_unique<ProblemRun>(context_, task->id, task->item),
                     shares * expected_cost_s(task->item.problem, context_.executor.device())});
  take_ahead();
  return true;
}

/// Takes the next problem while this one is measured, so that its candidates are listed when its turn comes. The last
/// problems stay with the source for the first free device.
void DeviceRun::take_ahead() {
  constexpr double kLeftToEachOther = 2;
  if (static_cast<double>(source_.remaining().num_waiting) > kLeftToEachOther * (num_devices_ - 1))
    next_ = source_.take();
  if (next_) context_.executor.prefetch(request::Open{0, next_->item.problem, context_.options.protocol, {}});
}

void DeviceRun::give_back_next() {
  if (next_) source_.give_back(std::exchange(next_, std::nullopt)->id);
}

/// Begins to tune a part that an active run waits for, for its short list.
bool DeviceRun::begin_part() {
  for (const Active& one : active_) {
    const Problem* part = one.run->next_part();
    const bool is_active = part == nullptr || std::any_of(active_.begin(), active_.end(), [&](const Active& other) {
                             return other.is_part && other.run->result().problem == *part;
                           });
    if (is_active) continue;
    const ProblemId id = context_.next_part--;
    const WorkItem item{.problem = *part, .goal = Goal::short_list};
    active_.push_back({id, std::make_unique<ProblemRun>(context_, id, item), one.share_s, true});
    return true;
  }
  return false;
}

void DeviceRun::begin_measuring() {
  if (!context_.options.before_measuring) return;
  const double before_s = context_.clock.now_s();
  std::call_once(has_begun_, context_.options.before_measuring, context_.tick);
  const double waited_s = context_.clock.now_s() - before_s;
  began_s_ += waited_s;
  context_.paused_s += waited_s;
}

void DeviceRun::step(Active& active) {
  if (active.run->is_about_to_measure()) begin_measuring();
  active.run->step();
  if (active.run->finished())
    finish(active);
  else
    hold_to_budget(active);
}

void DeviceRun::finish(Active& active) {
  const ProblemId id = active.id;
  const bool is_part = active.is_part;
  TuneResult result = active.run->result();
  result.device = context_.executor.device().id;
  active_.remove_if([&](const Active& one) { return one.id == id; });
  if (is_part) return note_part(result);
  source_.done(id, result);
  context_.observer.finished(result);
}

void DeviceRun::note_part(const TuneResult& result) {
  PartResult& known = context_.parts[result.problem.key()];
  for (const ShortListEntry& one : result.short_list) known.short_list.push_back(one.candidate);
  known.reason = result.reason;
  known.unbuilt = result.unbuilt;
  known.was_cut = result.ending == Ending::cut;
}

void DeviceRun::hold_to_budget(Active& active) {
  const TunerOptions& options = context_.options;
  const double busy_s = active.run->busy_s();
  if (options.problem_timeout_s > 0 && busy_s > options.problem_timeout_s)
    active.run->cut("--timeout passed before a decision");
  if (options.budget_s <= 0 || active.run->is_contest()) return;
  if (busy_s > active.share_s) active.run->stop_asking();
  const auto left = source_.remaining();
  const bool others_wait = left.num_waiting + left.num_open > 1;
  if (!others_wait || busy_s <= kMaxShares * active.share_s) return;
  constexpr const char* kReason = "the shape's time share ran out before a decision";
  if (active.run->wants_short_list())
    active.run->settle(kReason);
  else
    active.run->cut(kReason);
}

void DeviceRun::end_all(const std::string& reason, void (ProblemRun::*end)(const std::string&)) {
  for (Active& one : active_) (one.run.get()->*end)(reason);
}

void DeviceRun::abandon_lost() {
  for (Active& one : active_) {
    if (!one.is_part && source_.is_lost(one.id)) one.run->abandon("it was given up before a decision");
  }
}

/// Sleeps while all active runs wait; briefly, so that an interrupt does not wait for the whole delay.
void DeviceRun::wait_for_active() {
  constexpr double kMaxSleepS = 0.2;
  double ready_s = kForever;
  for (const Active& one : active_) {
    if (one.run->next_part() == nullptr) ready_s = std::min(ready_s, one.run->ready_at_s());
  }
  const double now_s = context_.clock.now_s();
  context_.clock.sleep_s(std::clamp(std::min(ready_s - now_s, left_s()), 0.0, kMaxSleepS));
  context_.executor.take();  // See await_compilers().
  context_.paused_s += context_.clock.now_s() - now_s;
}

}  // namespace attune
