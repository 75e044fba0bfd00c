// SPDX-License-Identifier: MIT
#include "server/journal_watch.h"

#include <algorithm>
#include <exception>
#include <system_error>
#include <variant>
#include <vector>

namespace attune {
namespace {

using namespace std::chrono_literals;
constexpr auto kPollInterval = 500ms;
constexpr size_t kEntriesOfAStep = 2000;  // At most 0.2 s, after which an end of the watch is seen.

/// What some entries say.
struct Step {
  std::vector<ResultRow> results;  ///< In the order of the query.
  std::vector<EntryHeading> headings;
  std::vector<Decision> decisions;
};

/// Reads entries of all kinds; of the Decisions what they say, too.
Step read_step(const Journal& journal, Query query) {
  Step step;
  query.runs = true;
  query.limit = kEntriesOfAStep;
  bool has_decisions = false;
  journal.visit_headings(query, [&](const EntryHeading& heading) {
    has_decisions = has_decisions || heading.kind == EntryKind::decision;
    step.headings.push_back(heading);
  });
  if (!has_decisions) return step;
  const auto [least, most] = std::minmax(step.headings.front().stamp.id, step.headings.back().stamp.id);
  const Query decisions{.after = least - 1,
                        .before = most + 1,
                        .newest_first = query.newest_first,
                        .started = false,
                        .records = false,
                        .pardons = false};
  journal.scan(decisions, [&](const Entry& entry, const Stamp& stamp) {
    const auto& decision = std::get<Decision>(entry);
    step.results.push_back(result_row(decision, stamp));
    step.decisions.push_back(decision);
  });
  return step;
}

void add(JournalTotals& totals, const Step& step) {
  for (const EntryHeading& heading : step.headings) totals.add(heading);
  for (const Decision& decision : step.decisions) totals.add(decision);
}

}  // namespace

JournalWatch::JournalWatch(const std::filesystem::path& file) : file_(file), journal_(file) {
  thread_ = std::thread([this] { follow(); });
}

JournalWatch::~JournalWatch() {
  {
    const std::lock_guard lock(mutex_);
    is_ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

WatchState JournalWatch::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

ResultPage JournalWatch::page(const ResultQuery& query) const {
  const std::lock_guard lock(mutex_);
  return results_.page(query);
}

std::string JournalWatch::metrics_text() const {
  uint64_t bytes = 0;
  for (const char* part : {"", "-wal"}) {
    std::error_code absent;
    const auto size = std::filesystem::file_size(file_.string() + part, absent);
    if (!absent) bytes += size;
  }
  const std::lock_guard lock(mutex_);
  return totals_.metrics_text(bytes);
}

WatchState JournalWatch::wait_beyond(int64_t id, uint64_t generation, std::chrono::milliseconds most) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, most, [&] { return is_ended_ || state_.newest_id > id || state_.generation != generation; });
  return state_;
}

void JournalWatch::set_failure(const std::string& failure) {
  const std::lock_guard lock(mutex_);
  state_.failure = failure;
}

/// Forgets what another file said.
void JournalWatch::begin_anew() {
  const uint64_t generation = journal_.generation();
  const std::lock_guard lock(mutex_);
  if (state_.generation == generation) return;
  state_ = {.generation = generation};
  results_ = {};
  totals_ = {};
  oldest_id_ = 0;
}

/// Returns whether there was something.
bool JournalWatch::read_older() {
  const bool is_first = oldest_id_ == 0;
  Step step = journal_.read(
      [&](const Journal& journal) { return read_step(journal, {.before = oldest_id_, .newest_first = true}); });
  const std::lock_guard lock(mutex_);
  if (step.headings.empty()) {
    state_.is_complete = true;
    return false;
  }
  oldest_id_ = step.headings.back().stamp.id;
  if (is_first) state_.newest_id = step.headings.front().stamp.id;
  add(totals_, step);
  for (ResultRow& row : step.results) results_.add_oldest(std::move(row));
  return true;
}

bool JournalWatch::read_newer() {
  const int64_t newest_id = state().newest_id;
  Step step = journal_.read([&](const Journal& journal) { return read_step(journal, {.after = newest_id}); });
  if (step.headings.empty()) return false;
  {
    const std::lock_guard lock(mutex_);
    state_.newest_id = step.headings.back().stamp.id;
    add(totals_, step);
    for (ResultRow& row : step.results) results_.add_newest(std::move(row));
  }
  changed_.notify_all();
  return true;
}

void JournalWatch::follow() {
  for (;;) {
    bool goes_on = false;
    try {
      journal_.read([](const Journal&) {});  // Opens the file that is there now.
      begin_anew();
      goes_on = state().is_complete ? read_newer() : read_older();
      if (!state().is_complete) goes_on = true;
      set_failure({});
    } catch (const std::exception& failed) {
      set_failure(failed.what());
    }
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, goes_on ? 0ms : kPollInterval, [this] { return is_ended_; })) return;
  }
}

}  // namespace attune
