// SPDX-License-Identifier: MIT
#include "server/journal/journal_watch.h"

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

bool is_read_in_full(EntryKind kind) {
  return kind == EntryKind::decision || kind == EntryKind::run_begin || kind == EntryKind::run_end ||
         kind == EntryKind::ban;
}

/// Reads entries of all kinds; of the records only the headings.
JournalStep read_step(const Journal& journal, Query query) {
  JournalStep step;
  query.runs = query.bans = true;
  query.limit = kEntriesOfAStep;
  bool has_more = false;
  journal.visit_headings(query, [&](const EntryHeading& heading) {
    has_more = has_more || is_read_in_full(heading.kind);
    step.headings.push_back(heading);
  });
  if (!has_more) return step;
  const auto [min, max] = std::minmax(step.headings.front().stamp.id, step.headings.back().stamp.id);
  const Query in_full{.after = min - 1,
                      .before = max + 1,
                      .newest_first = query.newest_first,
                      .started = false,
                      .records = false,
                      .pardons = false,
                      .runs = true,
                      .bans = true};
  journal.scan(in_full, [&](const Entry& entry, const Stamp& stamp) { step.entries.emplace_back(entry, stamp); });
  return step;
}

}  // namespace

JournalWatch::JournalWatch(const std::filesystem::path& file) : file_(file), journal_(file) {
  thread_ = std::thread([this] { follow(); });
}

JournalWatch::~JournalWatch() {
  {
    const Lock lock(mutex_);
    is_ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

WatchState JournalWatch::state() const {
  const Lock lock(mutex_);
  return state_;
}

ResultPage JournalWatch::page(const ResultQuery& query) const {
  const Lock lock(mutex_);
  return results_.page(query);
}

std::shared_ptr<const NewestResults> JournalWatch::newest_results() const {
  const Lock newest_lock(newest_mutex_);
  std::vector<std::shared_ptr<const ResultRow>> rows;
  decltype(newest_of_) num_changes = 0;
  {
    const Lock lock(mutex_);
    if (newest_ && newest_of_ == num_changes_) return newest_;
    rows = results_.rows();
    num_changes = num_changes_;
  }
  newest_ = std::make_shared<const NewestResults>(rows);
  newest_of_ = num_changes;
  return newest_;
}

std::vector<RunRow> JournalWatch::runs(int64_t before, size_t limit) const {
  const Lock lock(mutex_);
  return runs_.newest(before, limit);
}

std::optional<RunRow> JournalWatch::run(int64_t number) const {
  const Lock lock(mutex_);
  const RunRow* found = runs_.find(number);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

std::vector<QuarantineVerdict> JournalWatch::deaths(int64_t before, size_t limit) const {
  const Lock lock(mutex_);
  return quarantine_.newest(before, limit);
}

std::optional<std::pair<BanChange, Stamp>> JournalWatch::made(const Ban& ban) const {
  const Lock lock(mutex_);
  return quarantine_.made(ban);
}

std::vector<Metric> JournalWatch::metrics() const {
  uint64_t bytes = 0;
  for (const char* part : {"", "-wal"}) {
    std::error_code absent;
    const auto size = std::filesystem::file_size(file_.string() + part, absent);
    if (!absent) bytes += size;
  }
  const Lock lock(mutex_);
  return totals_.metrics(bytes);
}

WatchState JournalWatch::wait_beyond(int64_t id, uint64_t generation, std::chrono::milliseconds max) const {
  Lock lock(mutex_);
  const auto end = std::chrono::steady_clock::now() + max;
  while (!is_ended_ && state_.newest_id <= id && state_.generation == generation) {
    if (changed_.wait_until(lock, end) == std::cv_status::timeout) break;
  }
  return state_;
}

void JournalWatch::set_failure(const std::string& failure) {
  const Lock lock(mutex_);
  state_.failure = failure;
}

/// Forgets what another file said.
void JournalWatch::begin_anew() {
  const uint64_t generation = journal_.generation();
  const Lock lock(mutex_);
  if (state_.generation == generation) return;
  state_ = {.generation = generation};
  results_ = {};
  ++num_changes_;
  runs_ = {};
  quarantine_ = {};
  totals_ = {};
  oldest_id_ = 0;
}

void JournalWatch::take(const JournalStep& step, bool is_newest) {
  for (const EntryHeading& heading : step.headings) {
    totals_.add(heading);
    runs_.count(heading);
    is_newest ? quarantine_.add_newest(heading) : quarantine_.add_oldest(heading);
  }
  for (const auto& [entry, stamp] : step.entries) {
    if (const auto* change = std::get_if<BanChange>(&entry)) {
      quarantine_.add(*change, stamp);
      continue;
    }
    runs_.add(entry, stamp);
    const auto* decision = std::get_if<Decision>(&entry);
    if (decision == nullptr) continue;
    totals_.add(*decision);
    ResultRow row = result_row(*decision, stamp);
    is_newest ? results_.add_newest(std::move(row)) : results_.add_oldest(std::move(row));
    ++num_changes_;
  }
}

/// Returns whether there was something.
bool JournalWatch::read_older() {
  const bool is_first = oldest_id_ == 0;
  const JournalStep step = journal_.read(
      [&](const Journal& journal) { return read_step(journal, {.before = oldest_id_, .newest_first = true}); });
  const Lock lock(mutex_);
  if (step.headings.empty()) {
    state_.is_complete = true;
    quarantine_.end_oldest();
    return false;
  }
  oldest_id_ = step.headings.back().stamp.id;
  if (is_first) state_.newest_id = step.headings.front().stamp.id;
  take(step, false);
  return true;
}

bool JournalWatch::read_newer() {
  const int64_t newest_id = state().newest_id;
  const JournalStep step =
      journal_.read([&](const Journal& journal) { return read_step(journal, {.after = newest_id}); });
  if (step.headings.empty()) return false;
  {
    const Lock lock(mutex_);
    state_.newest_id = step.headings.back().stamp.id;
    take(step, true);
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
      set_failure({});
    } catch (const std::exception& failed) {
      set_failure(failed.what());
    }
    Lock lock(mutex_);
    const auto next = std::chrono::steady_clock::now() + (goes_on ? 0ms : kPollInterval);
    while (!is_ended_ && changed_.wait_until(lock, next) != std::cv_status::timeout) continue;
    if (is_ended_) return;
  }
}

}  // namespace attune
