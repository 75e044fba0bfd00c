// SPDX-License-Identifier: MIT
#include "campaign/online/online_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "formats/csv/key_cells.h"
#include "ops/op.h"

namespace attune {

/// How a tuning ended. `stopped`: by a signal, a file or a journal, which no shape causes; `failed`: a shape may be the
/// cause.
enum class OnlineRun::End : uint8_t { good, stopped, failed };

namespace {

int64_t now_s(const OnlineCalls& calls) {
  constexpr int64_t kMsPerS = 1000;
  return calls.now_s ? calls.now_s() : unix_ms() / kMsPerS;
}

std::filesystem::path attempts_file(const OnlineQueue& queue) { return queue.folder() / "attempts.csv"; }

}  // namespace

void OnlineRun::retry() {
  const auto problems = attempts_.forget_all();
  for (const FamilySpec& family : families()) {
    std::vector<Problem> own;
    std::copy_if(problems.begin(), problems.end(), std::back_inserter(own),
                 [&](const Problem& problem) { return problem.op() == family.op; });
    if (!own.empty()) queue_.add(family, own);
  }
  attempts_.save();
}

int OnlineRun::work() {
  while (!calls_.is_over || !calls_.is_over()) {
    const Batch batch = next();
    if (batch.family == nullptr) return 0;
    if (const int status = tune(batch); status != 0) return status;
  }
  return 0;
}

std::string OnlineRun::summary() const {
  const std::string waiting = num_waiting_ > 0 ? fmt::format(", {} waiting for memory", num_waiting_) : "";
  return fmt::format("online tuning on {}: {} tuned, {} given up{}; queue: '{}'", device_.id,
                     counted(num_tuned_, "shape"), num_given_up_, waiting, queue_.folder().string());
}

/// Returns why a shape cannot be tuned on this device; empty: it can.
std::string OnlineRun::why_not(const FamilySpec& family, const Problem& problem) const {
  if (!family.tunable) return fmt::format("this version cannot tune {}", family.op);
  try {
    op_of(problem).normalise(problem, device_);
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

void OnlineRun::give_up(const Problem& problem, const std::string& reason) {
  if (attempts_.given_up(problem) != reason) attempts_.give_up(problem, reason);
  ++num_given_up_;
  calls_.report(fmt::format("given up: {}: {}", problem.key(), reason));
}

void OnlineRun::postpone(const Problem& problem, const std::string& reason) {
  const int64_t wait_s = attempts_.postpone(problem, now_s(calls_));
  calls_.report(
      fmt::format("waits for memory: {}: {}; tried again after {} minutes", problem.key(), reason, wait_s / 60));
}

/// Returns the next shapes to tune, and removes untunable shapes and invalid lines from the queue.
OnlineRun::Batch OnlineRun::next() {
  const int64_t now = now_s(calls_);
  num_waiting_ = 0;
  for (const WaitingShapes& waiting : queue_.read()) {
    for (const std::string& notice : waiting.notices) calls_.report("note: " + notice);
    const FamilySpec& family = *waiting.family;
    std::vector<Problem> left, out;
    for (const Problem& problem : waiting.problems) {
      std::string reason = attempts_.given_up(problem);
      if (reason.empty()) reason = why_not(family, problem);
      if (!reason.empty()) {
        give_up(problem, reason);
        out.push_back(problem);
      } else if (attempts_.is_waiting(problem, now)) {
        ++num_waiting_;
      } else {
        left.push_back(problem);
      }
    }
    // Save the attempts first: a shape removed from the queue must not be tried forever because it is requested
    // again.
    if (!out.empty()) attempts_.save();
    if (!out.empty() || !waiting.notices.empty() || waiting.problems.empty()) queue_.remove(family, out);
    if (!left.empty()) return {&family, chosen_of(left)};
  }
  return {};
}

/// A shape whose tuning ended the process before is tuned alone, because it may be the cause.
std::vector<Problem> OnlineRun::chosen_of(const std::vector<Problem>& left) const {
  std::vector<Problem> chosen;
  for (const Problem& problem : left) {
    if (attempts_.is_suspect(problem) || chosen.size() == kMaxAtOnce) continue;
    chosen.push_back(problem);
  }
  if (chosen.empty()) chosen.push_back(left.front());
  return chosen;
}

int OnlineRun::tune(const Batch& batch) {
  for (const Problem& problem : batch.problems) attempts_.begin(problem);
  attempts_.save();
  CampaignResult run;
  try {
    run = calls_.tune(*batch.family, batch.problems);
  } catch (const Error& error) {
    const bool may_be_theirs = error.code() == ErrorCode::device || error.code() == ErrorCode::internal;
    settle(batch, {}, may_be_theirs ? End::failed : End::stopped);
    throw;
  } catch (...) {
    settle(batch, {}, End::failed);
    throw;
  }
  constexpr int kSignals = 128;
  settle(batch, run.shapes, run.status > kSignals ? End::stopped : End::good);
  return run.status > kSignals ? run.status : 0;
}

/// Removes tuned shapes from the queue, and gives up failed ones; unfinished shapes stay if the run was cut short.
/// Their attempts count if a shape may be the cause.
void OnlineRun::settle(const Batch& batch, const std::vector<TuneResult>& results, End end) {
  std::vector<Problem> out;
  for (const Problem& problem : batch.problems) {
    const std::string key = key_text(*batch.family, problem);
    const auto found = std::find_if(results.begin(), results.end(),
                                    [&](const TuneResult& one) { return key_text(*batch.family, one.problem) == key; });
    const bool is_tuned = found != results.end() && (found->decision || found->ending == Ending::kept);
    const bool may_go_on = end != End::good && (found == results.end() || found->ending == Ending::cut);
    if (is_tuned) {
      attempts_.done(problem);
      ++num_tuned_;
    } else if (may_go_on) {
      if (end == End::stopped) attempts_.undone(problem);
      continue;
    } else if (found != results.end() && found->lacks_memory) {
      postpone(problem, found->reason);
      continue;
    } else {
      give_up(problem, found == results.end() ? "the run skipped it"
                                              : fmt::format("{}: {}", name(found->ending), found->reason));
    }
    out.push_back(problem);
  }
  attempts_.save();
  queue_.remove(*batch.family, out);
}

namespace {

/// Whether a shape is queued that does not wait for memory.
bool is_any_due(const OnlineQueue& queue, const OnlineCalls& calls) {
  if (!queue.is_waiting()) return false;
  const OnlineAttempts attempts(attempts_file(queue));
  const std::vector<WaitingShapes> all = queue.read();
  return std::any_of(all.begin(), all.end(), [&](const WaitingShapes& one) {
    const auto is_due = [&](const Problem& problem) { return !attempts.is_waiting(problem, now_s(calls)); };
    return one.problems.empty() || std::any_of(one.problems.begin(), one.problems.end(), is_due);
  });
}

/// Takes the turn; returns nothing if another process has it.
std::optional<FileLock> take_turn(const OnlineQueue& queue) {
  try {
    return std::optional<FileLock>(std::in_place, queue.turn(), FileLock::Use::alone, 0);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::timeout) throw;
    return std::nullopt;
  }
}

}  // namespace

OnlineEnd empty_queue(const OnlineQueue& queue, const DeviceInfo& device, const OnlineCalls& calls, bool retry) {
  make_private_folder(queue.folder());
  OnlineEnd end;
  while (!end.had_turn || is_any_due(queue, calls)) {
    const auto turn = take_turn(queue);
    if (!turn) return end;
    const bool is_first = !std::exchange(end.had_turn, true);
    if (is_first && calls.begin) calls.begin();
    OnlineAttempts attempts(attempts_file(queue));
    OnlineRun run(queue, attempts, device, calls);
    if (is_first && retry) run.retry();
    end.status = run.work();
    end.is_waiting = run.is_waiting();
    calls.report(run.summary());
    if (end.status != 0 || (calls.is_over && calls.is_over())) return end;
  }
  return end;
}

TuneOptions online_tune_options(const OnlineMethod& method, const FamilySpec& family,
                                std::span<const Problem> problems) {
  TuneOptions options;
  options.problems.assign(problems.begin(), problems.end());
  options.op = family.op;
  options.output = (method.overlay / family.default_file).string();
  options.devices = method.device;
  options.timeout = method.timeout;
  options.max_trials = method.max_trials;
  options.quiet_wait_s = method.quiet_wait_s;
  options.batch = 1;  // Publishes each row as soon as it is known.
  return options;
}

CampaignResult tune_into_overlay(const OnlineMethod& method, const FamilySpec& family,
                                 std::span<const Problem> problems) {
  make_private_folder(method.overlay);
  return run_campaign(online_tune_options(method, family, problems));
}

}  // namespace attune
