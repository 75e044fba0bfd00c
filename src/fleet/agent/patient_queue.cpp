// SPDX-License-Identifier: MIT
#include "fleet/agent/patient_queue.h"

#include <fmt/format.h>

#include "base/text.h"

namespace attune {

PatientQueue::PatientQueue(JobQueue& queue, double patience_s, std::function<void(const std::string&)> say,
                           Clock& clock)
    : queue_(queue), patience_s_(patience_s), say_(std::move(say)), clock_(clock) {}

void PatientQueue::note_answer() {
  if (!away_since_s_) return;
  if (say_) say_(fmt::format("the store answers again after {}", format_duration(clock_.now_s() - *away_since_s_)));
  away_since_s_.reset();
}

void PatientQueue::note_away(const std::string& why) {
  if (away_since_s_) return;
  away_since_s_ = clock_.now_s();
  if (say_) say_(fmt::format("{}; results wait in the journal, for at most {}", why, format_duration(patience_s_)));
}

bool PatientQueue::send() {
  while (!unsent_.empty()) {
    const Unsent& one = unsent_.front();
    const auto is_stored =
        ask([&] { return std::optional(queue_.commit(one.job, one.outcome)); }, std::optional<bool>());
    if (!is_stored) return false;
    if (!*is_stored) {
      ++num_late_;
      if (say_) say_(fmt::format("job {} was given to another agent meanwhile, its result is discarded", one.job.id));
    }
    unsent_.pop_front();
  }
  return true;
}

std::vector<ClaimedJob> PatientQueue::claim(const ClaimFilter& filter, size_t max_count) {
  const Lock lock(mutex_);
  if (!send()) return {};
  return ask([&] { return queue_.claim(filter, max_count); }, std::vector<ClaimedJob>());
}

std::vector<int64_t> PatientQueue::renew(const std::vector<ClaimedJob>& jobs) {
  const Lock lock(mutex_);
  return ask_or_throw([&] { return queue_.renew(jobs); });
}

bool PatientQueue::commit(const ClaimedJob& job, const JobOutcome& outcome) {
  const Lock lock(mutex_);
  if (send()) {
    const auto is_stored = ask([&] { return std::optional(queue_.commit(job, outcome)); }, std::optional<bool>());
    if (is_stored) return *is_stored;
  }
  unsent_.push_back({job, outcome});
  return true;
}

void PatientQueue::release(const std::vector<ClaimedJob>& jobs) {
  const Lock lock(mutex_);
  ask(
      [&] {
        queue_.release(jobs);
        return true;
      },
      false);
}

Deferral PatientQueue::defer(const ClaimedJob& job, const std::vector<WantedCandidate>& wanted,
                             const std::vector<ShortListRow>& so_far) {
  const Lock lock(mutex_);
  return ask([&] { return queue_.defer(job, wanted, so_far); }, Deferral::deferred);
}

std::map<int64_t, std::vector<WantedCandidate>> PatientQueue::wanted(const std::vector<ClaimedJob>& jobs) {
  const Lock lock(mutex_);
  return ask_or_throw([&] { return queue_.wanted(jobs); });
}

BareSearches PatientQueue::bare_searches(int64_t session) {
  const Lock lock(mutex_);
  return ask([&] { return queue_.bare_searches(session); },
             has_given_up() ? BareSearches::none : BareSearches::running);
}

size_t PatientQueue::end_leases(int64_t session, const std::function<bool(const std::string&)>& has_ended) {
  const Lock lock(mutex_);
  return ask([&] { return queue_.end_leases(session, has_ended); }, size_t{0});
}

JobCounts PatientQueue::counts(const ClaimFilter& filter) {
  const Lock lock(mutex_);
  counts_ = ask([&] { return queue_.counts(filter); }, counts_);
  return has_given_up() ? JobCounts() : counts_;
}

std::vector<ShortListRow> PatientQueue::short_lists(int64_t session, const std::string& configuration) {
  const Lock lock(mutex_);
  return ask_or_throw([&] { return queue_.short_lists(session, configuration); });
}

void PatientQueue::tick() {
  const Lock lock(mutex_);
  send();
}

bool PatientQueue::is_waiting() {
  const Lock lock(mutex_);
  return away_since_s_ && clock_.now_s() < *away_since_s_ + patience_s_;
}

bool PatientQueue::has_given_up() { return away_since_s_ && clock_.now_s() >= *away_since_s_ + patience_s_; }

bool PatientQueue::is_given_up() {
  const Lock lock(mutex_);
  return has_given_up();
}

size_t PatientQueue::num_unsent() {
  const Lock lock(mutex_);
  return unsent_.size();
}

size_t PatientQueue::num_late() {
  const Lock lock(mutex_);
  return num_late_;
}

}  // namespace attune
