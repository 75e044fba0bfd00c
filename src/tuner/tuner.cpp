// SPDX-License-Identifier: MIT
#include "tuner/tuner.h"

#include <algorithm>
#include <array>
#include <list>

#include "tuner/expected_cost.h"
#include "tuner/problem_run.h"

namespace attune {
namespace {

/// Two problems are open at a time: one waits for its confirm while the other races.
constexpr size_t kOpenProblems = 2;
constexpr double kForever = 1e300;
/// A problem may take this many times its share of the budget before it is cut, so that one cannot use up the others'.
constexpr double kMostShares = 2;

/// One call of Tuner::run().
class Campaign {
 public:
  Campaign(TuningContext& context, const std::vector<WorkItem>& items)
      : context_(context), items_(items), results_(items.size()), began_s_(context.clock.now_s()) {
    for (size_t i = 0; i < items.size(); ++i) {
      results_[i].problem = items[i].problem;
      costs_s_.push_back(expected_cost_s(items[i].problem, context.executor.device()));
      cost_left_s_ += costs_s_.back();
    }
  }

  std::vector<TuneResult> run(const std::atomic<bool>& interrupted) {
    context_.left_s = [&] { return left_s(); };
    context_.must_stop = [&] { return interrupted || left_s() <= 0; };
    context_.interrupted = [&] { return interrupted.load(); };
    while (num_done_ < items_.size()) {
      if (interrupted)
        end_all("interrupted before it was decided", &ProblemRun::abandon);
      else if (left_s() <= 0)
        end_all("the budget was spent before it was decided", &ProblemRun::cut);
      if (Active* ready = next_ready())
        step(*ready);
      else if (next_ < items_.size() && active_.size() < kOpenProblems)
        begin_next();
      else if (!active_.empty())
        nap();
    }
    return std::move(results_);
  }

 private:
  struct Active {
    size_t index = 0;
    std::unique_ptr<ProblemRun> run;
    double share_s = 0;  ///< Of the budget.
  };

  double left_s() const {
    return context_.options.budget_s > 0 ? began_s_ + context_.options.budget_s - context_.clock.now_s() : kForever;
  }

  /// The oldest active run that has something to do; null when all wait.
  Active* next_ready() {
    const double now_s = context_.clock.now_s();
    for (Active& one : active_) {
      if (one.run->ready_at_s() <= now_s) return &one;
    }
    return nullptr;
  }

  void begin_next() {
    // What is left, shared by what the problems are expected to cost. Where it does not suffice for all, those that
    // come first still get what they need: half-measured shapes help nobody.
    const double share_s = std::max(1.0, left_s() / cost_left_s_) * costs_s_[next_];
    active_.push_back(
        {next_, std::make_unique<ProblemRun>(context_, static_cast<ProblemId>(next_), items_[next_]), share_s});
    ++next_;
  }

  void step(Active& active) {
    active.run->step();
    if (active.run->finished())
      finish(active);
    else
      hold_to_budget(active);
  }

  void finish(Active& active) {
    const size_t index = active.index;
    results_[index] = active.run->result();
    cost_left_s_ -= costs_s_[index];
    ++num_done_;
    active_.remove_if([&](const Active& one) { return one.index == index; });
    context_.observer.finished(results_[index]);
  }

  void hold_to_budget(Active& active) {
    const TunerOptions& options = context_.options;
    const double busy_s = active.run->busy_s();
    if (options.problem_timeout_s > 0 && busy_s > options.problem_timeout_s)
      active.run->cut("--timeout passed before it was decided");
    if (options.budget_s <= 0) return;
    if (busy_s > active.share_s) active.run->stop_asking();
    const bool others_wait = num_done_ + 1 < items_.size();
    if (others_wait && busy_s > kMostShares * active.share_s) {
      active.run->cut("its share of the budget was spent before it was decided");
    }
  }

  void end_all(const std::string& reason, void (ProblemRun::*end)(const std::string&)) {
    for (Active& one : active_) (one.run.get()->*end)(reason);
    for (; next_ < items_.size(); ++next_, ++num_done_) {
      results_[next_].ending = Ending::cut;
      results_[next_].reason = reason;
      context_.observer.finished(results_[next_]);
    }
  }

  /// All active runs wait. Short naps: an interrupt should not wait for the whole delay.
  void nap() {
    constexpr double kNapS = 0.2;
    double ready_s = kForever;
    for (const Active& one : active_) ready_s = std::min(ready_s, one.run->ready_at_s());
    context_.clock.sleep_s(std::clamp(std::min(ready_s - context_.clock.now_s(), left_s()), 0.0, kNapS));
  }

  TuningContext& context_;
  const std::vector<WorkItem>& items_;
  std::vector<TuneResult> results_;
  std::vector<double> costs_s_;
  double cost_left_s_ = 0;
  double began_s_;
  std::list<Active> active_;
  size_t next_ = 0, num_done_ = 0;
};

}  // namespace

std::string_view name(Ending ending) noexcept {
  static constexpr std::array<std::string_view, 6> kNames = {"decided", "reused",      "kept",
                                                             "refused", "unsupported", "cut"};
  return kNames[static_cast<size_t>(ending)];
}

Tuner::Tuner(Executor& executor, Journal& journal, TunerOptions options, Clock& clock, Kernels* kernels)
    : executor_(executor), journal_(journal), options_(std::move(options)), clock_(clock), kernels_(kernels) {}

std::vector<TuneResult> Tuner::run(const std::vector<WorkItem>& items, TuneObserver& observer,
                                   const std::atomic<bool>& interrupted) {
  TuningContext context{executor_, journal_, options_, clock_, observer, kernels_, {}, {}, {}};
  return Campaign(context, items).run(interrupted);
}

}  // namespace attune
