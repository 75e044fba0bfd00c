// SPDX-License-Identifier: MIT
#include "dispatch/background_work.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/locations.h"
#include "dispatch/plans/attune_program.h"
#include "dispatch/threads/application_end.h"
#include "dispatch/threads/library_use.h"

namespace attune {

BackgroundWork::BackgroundWork(const DispatcherOptions& options, PlanService& plans, Inbox& inbox, Inbox& misses,
                               Capture* capture, DispatchLog& log)
    : options_(options), plans_(plans), inbox_(inbox), misses_(misses), capture_(capture), log_(log) {
  if (options.online_tuning) begin_online_tuning();
  try {
    thread_ = std::make_unique<BackgroundThread>([this] {
      run();
      if (online_) online_->end();
    });
  } catch (const Error& error) {
    online_.reset();
    plans_.note_no_thread();
    why_not_ = fmt::format(
        "the dispatcher serves without its thread: {}; until it is opened again, changed tables are read by reload() "
        "alone, and choose() gives stand-ins for new shapes",
        error.what());
  }
}

BackgroundWork::~BackgroundWork() {
  stop_ = true;
  plans_.stop();
  inbox_.wake();
}

void BackgroundWork::stop(std::chrono::milliseconds timeout) {
  if (!thread_ || plans_.is_in_child()) return;
  stop_ = true;
  plans_.stop();
  inbox_.wake();
  if (thread_->wait(timeout)) thread_.reset();
}

void BackgroundWork::begin_online_tuning() {
  AttuneProgram program = attune_program();
  std::filesystem::path home = fixed_path(path_if_any(home_location));
  try {
    if (home.empty()) program.why_not = "there is no home folder, set ATTUNE_HOME";
    if (!home.empty()) check_home_location();
  } catch (const Error& error) {
    program.why_not = error.what();
  }
  if (!program.why_not.empty())
    log_.say("online tuning is off: " + program.why_not);
  else
    online_ =
        std::make_unique<OnlineTuning>(OnlineOptions{.program = std::move(program.path),
                                                     .state = std::move(home),
                                                     .device = plans_.first().info,
                                                     .shares_device = options_.shares_device || plans_.is_host()});
}

void BackgroundWork::run() noexcept {
  constexpr std::chrono::milliseconds kMax = std::chrono::hours(24), kFlush = std::chrono::seconds(5),
                                      kEndLook = std::chrono::seconds(1);
  const bool looks = options_.poll_interval.count() > 0;
  const auto poll_interval = looks ? std::min(options_.poll_interval, kMax) : kMax;
  const auto period = std::min(poll_interval, kEndLook);
  auto next_end_look = std::chrono::steady_clock::now() + kEndLook;
  auto next_look = std::chrono::steady_clock::now() + poll_interval;
  auto next_flush = std::chrono::steady_clock::now() + kFlush;
  // Of this thread: a child of fork() has neither the thread nor its compilers.
  std::unique_ptr<KernelCompilations> compilations;
  MissingKernels missing;
  while (!stop_) {
    try {
      if (!compilations) compilations = plans_.new_compilations();
      inbox_.wait(period);
      answer_posted();
      // A short time only, so that new shapes, changed files and missed shapes need not wait for all.
      if (!stop_ && plans_.compile_some(*compilations)) inbox_.wake();
      if (!stop_ && plans_.count_missing(missing, *compilations)) inbox_.wake();
      if (online_) {
        note_missed();
        tune_missed();
      }
      const auto time = std::chrono::steady_clock::now();
      if (time >= next_end_look) {
        next_end_look = time + kEndLook;
        if (has_application_ended()) return;
      }
      if (time >= next_look) {
        next_look = time + poll_interval;
        if (looks) plans_.reload(false);
      }
      if (time < next_flush || capture_ == nullptr) continue;
      next_flush = time + kFlush;
      if (const std::string why = capture_->flush(); !why.empty()) log_.say(why);
    } catch (...) {
      // Most likely out of memory. Later lookups ask for the work again.
    }
  }
}

void BackgroundWork::answer_posted() {
  for (const Inbox::Item& item : inbox_.take()) {
    if (stop_) return;
    try {
      plans_.answer(item.request);
    } catch (...) {
      // A later lookup posts it again.
    }
    inbox_.done(item);
  }
}

/// Shapes keep their slots for a second, in which their next calls post nothing and wake nobody.
void BackgroundWork::note_missed() {
  constexpr std::chrono::milliseconds kHeld(1000);
  const auto now = std::chrono::steady_clock::now();
  if (now >= next_release_) {
    next_release_ = now + kHeld;
    for (const Inbox::Item& item : std::exchange(noted_, {})) misses_.done(item);
  }
  misses_.wait(std::chrono::milliseconds(0));
  // Whatever fails below, their slots become free.
  const std::vector<Inbox::Item> taken = misses_.take();
  noted_.insert(noted_.end(), taken.begin(), taken.end());
  for (const Inbox::Item& item : taken) plans_.note_missed(item.request);
}

void BackgroundWork::tune_missed() {
  const PlanService::Missed missed = plans_.take_missed();
  const LibraryUse use;  // Starting a process takes locks that a child of fork() must find open.
  // An application may set its limit before its first call, as the patch of PyTorch does.
  if (missed.device != nullptr) online_->tune_for(*missed.device);
  for (const Problem& problem : missed.problems) online_->want(problem);
  for (const std::string& sentence : online_->poll()) log_.say(sentence);
}

}  // namespace attune
