// SPDX-License-Identifier: MIT
#include "dispatch/dispatch_state.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/error.h"
#include "base/locations.h"
#include "compile/compile_pool.h"
#include "dispatch/capture_files.h"
#include "dispatch/lookup_steps.h"
#include "dispatch/read_guard.h"
#include "dispatch/table_sources.h"
#include "ops/op.h"

namespace attune {
namespace {

/// The first threads of a process have a counter each, the others share the last one.
size_t counter_of_this_thread(size_t num_counters) noexcept {
  static std::atomic<size_t> next{0};
  thread_local constinit size_t mine = ~size_t{0};
  if (mine == ~size_t{0}) mine = next.fetch_add(1, std::memory_order_relaxed);
  return std::min(mine, num_counters - 1);
}

/// Of a counter that this thread alone changes.
void add_one(std::atomic<uint64_t>& counter) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

FileStamp stamp_of(const std::filesystem::path& file) {
  FileStamp stamp{.file = file};
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return stamp;
  stamp.inode = status.st_ino;
  stamp.bytes = static_cast<uint64_t>(status.st_size);
  stamp.changed_ns = int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  return stamp;
}

TableSources sources_of(const FamilySpec& family, const TablePlaces& places, const DispatcherOptions& options) {
  const auto named = options.tables.find(std::string(family.op));
  if (named == options.tables.end()) return table_sources(family, places);
  TableSources sources;
  for (const auto& file : named->second) sources.files.push_back({file, Origin::variable});
  return sources;
}

}  // namespace

Hit first_row(const Snapshot& now, const GemmKey& key, bool pads_m, const HalfKey& half) noexcept {
  const RowIndex& rows = *now.tables[static_cast<size_t>(key.op)].rows;
  const LookupSteps steps(pads_m, key.m, key.n);
  for (const auto& step : steps) {
    // The padded ones are fetched side by side, once the problem's own is not there.
    if (step.match == Match::padded_fine && &step != steps.end() - 1) rows.prefetch(half.with_m((&step)[1].m));
    if (const uint32_t row = rows.find(half.with_m(step.m))) return {.match = step.match, .row = row};
  }
  return {};
}

Dispatcher::State::State(DispatcherOptions wanted)
    : options(std::move(wanted)),
      cache_(path_if_any(cache_location)),
      process_(::getpid()),
      maker_(options.device, registry(Surroundings::application), cache_) {
  for (const FamilySpec& family : families()) {
    codes.emplace_back(family);
    places_.push_back(table_places(family));
  }
  if (!options.capture.empty()) capture = std::make_unique<Capture>(options.capture);
  bool changed = false;
  now.store(read_tables(nullptr, changed).release());
  for (const std::string& notice : notices()) log_.say(notice);
  enlist(*this);
  prepare_read_guards();
  // The application's signals are not for this thread.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] {
    work();
    is_done_ = true;
  });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Dispatcher::State::Live& Dispatcher::State::live() {
  static Live& one = *new Live;
  return one;
}

/// A child of fork() must not find a lock taken by a thread that it does not have.
void Dispatcher::State::enlist(State& state) {
  static const int forking = ::pthread_atfork(
      [] {
        live().mutex.lock();
        live().is_forking = true;
        for (State* one : live().all) {
          one->making_.lock();
          one->log_.lock();
        }
      },
      open_after_fork, open_after_fork);
  static_cast<void>(forking);
  const std::lock_guard lock(live().mutex);
  live().all.insert(&state);
}

void Dispatcher::State::open_after_fork() {
  live().is_forking = false;
  for (State* one : live().all) {
    one->log_.unlock();
    one->making_.unlock();
  }
  live().mutex.unlock();
}

Dispatcher::State::~State() {
  if (process_ == ::getpid() && thread_.joinable()) {  // What it uses goes away now: it is waited for.
    stop_ = true;
    inbox.wake();
    thread_.join();
  }
  finish();
  {
    const std::lock_guard lock(live().mutex);
    live().all.erase(this);
  }
  delete now.load();
}

void Dispatcher::State::count(bool missed) noexcept {
  const size_t number = counter_of_this_thread(counters_.size());
  Counter& counter = counters_[number];
  if (number + 1 < counters_.size()) {
    add_one(counter.calls);
    if (missed) add_one(counter.misses);
  } else {
    counter.calls.fetch_add(1, std::memory_order_relaxed);
    if (missed) counter.misses.fetch_add(1, std::memory_order_relaxed);
  }
}

DispatchCounts Dispatcher::State::counts() const {
  DispatchCounts counts{
      .shapes = num_shapes_, .missed_shapes = num_missed_shapes_, .plans = num_plans_, .reloads = num_reloads_};
  for (const Counter& counter : counters_) {
    counts.calls += counter.calls.load(std::memory_order_relaxed);
    counts.misses += counter.misses.load(std::memory_order_relaxed);
  }
  return counts;
}

ProblemKey Dispatcher::State::hash_of(const GemmKey& key) const noexcept {
  return codes[static_cast<size_t>(key.op)].hash(key);
}

/// `changed` when anything differs from `before`, of which all is taken over that does not.
std::unique_ptr<Snapshot> Dispatcher::State::read_tables(const Snapshot* before, bool& changed) const {
  auto fresh = std::make_unique<Snapshot>();
  changed = before == nullptr;
  for (size_t op = 0; op < kNumOps; ++op) {
    TableSources sources = sources_of(families()[op], places_[op], options);
    Snapshot::Tables& tables = fresh->tables[op];
    for (const TableSource& source : sources.files) {
      tables.stamps.push_back(stamp_of(source.file));
      tables.origins.push_back(name(source.origin));
    }
    tables.notices = std::move(sources.notices);
    if (before != nullptr && before->tables[op].stamps == tables.stamps) {
      tables.rows = before->tables[op].rows;
      continue;
    }
    changed = true;
    tables.rows = std::make_shared<const RowIndex>(codes[op], std::move(sources.files), maker_.device());
  }
  return fresh;
}

std::vector<std::string> Dispatcher::State::notices() {
  const std::lock_guard lock(making_);
  std::vector<std::string> all;
  for (const Snapshot::Tables& tables : now.load()->tables) {
    all.insert(all.end(), tables.notices.begin(), tables.notices.end());
    all.insert(all.end(), tables.rows->notices().begin(), tables.rows->notices().end());
  }
  return all;
}

std::vector<TableInUse> Dispatcher::State::tables() {
  const std::lock_guard lock(making_);
  std::vector<TableInUse> all;
  const Snapshot& current = *now.load();
  for (size_t op = 0; op < kNumOps; ++op) {
    const Snapshot::Tables& tables = current.tables[op];
    for (size_t i = 0; i < tables.stamps.size(); ++i) {
      const FileStamp& stamp = tables.stamps[i];
      all.push_back({std::string(families()[op].op), stamp.file, std::string(tables.origins[i]), stamp.inode != 0});
    }
  }
  return all;
}

/// The kept plan of a candidate (empty: untuned), or one made now.
const Plan* Dispatcher::State::plan_of(const Problem& problem, std::string_view candidate, Made& made,
                                       std::string& why_not) {
  const std::pair name(problem.key(), std::string(candidate));
  if (const auto kept = plans_.find(name); kept != plans_.end()) {
    made.hit.drifted = kept->second.drifted;
    return kept->second.plan.get();
  }
  PlanMaker::Made fresh = candidate.empty() ? maker_.make_untuned(problem) : maker_.make(problem, candidate);
  why_not = std::move(fresh.why_not);
  if (made.missing.empty()) made.missing = std::move(fresh.missing);
  if (!fresh.plan) return nullptr;
  made.hit.drifted = fresh.drifted;
  if (is_full) {
    made.own = std::move(fresh.plan);
    return made.own.get();
  }
  const Kept& kept = plans_.emplace(name, Kept{std::move(fresh.plan), fresh.drifted}).first->second;
  num_plans_ = plans_.size();
  is_full = plans_.size() >= options.most_plans;
  return kept.plan.get();
}

/// Walks the steps until a row's plan can be made, else the untuned one. Under making_.
Dispatcher::State::Made Dispatcher::State::make(const Snapshot& tables, const GemmKey& key) {
  const auto op = static_cast<size_t>(key.op);
  const KeyCodes& own = codes.at(op);
  const RowIndex& rows = *tables.tables[op].rows;
  Made made;
  const auto asked = problem_of(own, key);
  const Op* known = find_op(own.family().op);
  if (!asked) fail(ErrorCode::invalid_input, "a key of {} has a data type that is none", own.family().op);
  if (known == nullptr) {
    made.why_not = fmt::format("this build does not compute {}", own.family().op);
    return made;
  }
  const Problem problem = known->normalise(*asked, maker_.device());
  const HalfKey half = own.half(key);
  if ((key.flags & GemmKey::bpreshuffle) != 0) {
    // A key does not say in which layout its weights are, so no kernel may touch them.
    made.why_not = "weights packed ahead (bpreshuffle=1) are not served by this version, call it with plain ones";
    return made;
  }
  for (const auto& step : LookupSteps(own.pads_m(), key.m, key.n)) {
    const uint32_t number = rows.find(half.with_m(step.m));
    if (number == 0) continue;
    const RowIndex::Row& row = rows.row(number);
    std::string why_not;
    made.hit.plan = plan_of(problem, rows.kernel_name(row), made, why_not);
    made.hit.match = step.match;
    made.hit.row = number;
    if (made.hit.plan != nullptr) return made;
    if (!made.missing.empty()) break;
    log_.say(fmt::format("{}: the row does not serve {}: {}", rows.where(row), problem.key(), why_not));
    made.hit = {};
  }
  made.hit.plan = plan_of(problem, {}, made, made.why_not);
  made.hit.not_ready = made.hit.row != 0;
  return made;
}

/// Answers a problem from now on, while there is room. Under making_.
Dispatcher::State::Made Dispatcher::State::serve(const GemmKey& key) {
  Snapshot& tables = *now.load();
  Made made;
  try {
    made = make(tables, key);
    made.refusal.why = fmt::format("no kernel runs this problem: {}", made.why_not);
  } catch (const Error& error) {
    made.refusal = {error.code(), error.what()};
  }
  if (made.own) return made;
  const ProblemKey hash = hash_of(key);
  const bool fresh = tables.served.find(hash) == nullptr;
  tables.served.put({hash, key, made.hit});
  if (made.hit.plan == nullptr) {
    if (refusals_.size() < options.most_plans) refusals_.insert_or_assign({hash.high, hash.low}, made.refusal);
    log_.say(fmt::format("a shape cannot be served: {}", made.refusal.why));
  } else if (fresh) {
    note(key, made.hit);
  }
  want_compiled(key, made);
  return made;
}

/// What stands in for a row's kernel is looked at again when that is compiled; once, until the tables change.
void Dispatcher::State::want_compiled(const GemmKey& key, const Made& made) {
  if (options.building != Building::background || !made.hit.not_ready || made.missing.empty()) return;
  const ProblemKey hash = hash_of(key);
  if (asked_for_.size() < options.most_plans && asked_for_.insert({hash.high, hash.low}).second) wanted_.push_back(key);
}

/// A line for the first call of a shape.
void Dispatcher::State::note(const GemmKey& key, const Hit& hit) {
  ++num_shapes_;
  if (hit.row == 0) ++num_missed_shapes_;
  if (hit.row != 0 && !options.log_hits) return;
  const auto problem = problem_of(codes[static_cast<size_t>(key.op)], key);
  if (!problem) return;
  const RowIndex& rows = *now.load()->tables[static_cast<size_t>(key.op)].rows;
  if (hit.row == 0) {
    log_.say(fmt::format("no row of a table serves {}, it runs untuned", problem->key()));
  } else {
    const RowIndex::Row& row = rows.row(hit.row);
    log_.say(fmt::format("{}: {} of {}: {}", problem->key(), name(hit.match), rows.where(row), rows.kernel_name(row)));
  }
}

Hit Dispatcher::State::require(const GemmKey& key) {
  if (static_cast<size_t>(key.op) >= kNumOps)
    fail(ErrorCode::invalid_input, "there is no op of that number: {}", static_cast<int>(key.op));
  // The lock is not fair, and who forks waits for it.
  while (live().is_forking) std::this_thread::yield();
  std::unique_lock lock(making_);
  const ProblemKey hash = hash_of(key);
  const Served* served = now.load()->served.find(hash);
  if (served != nullptr && codes[static_cast<size_t>(key.op)].same(served->key, key)) {
    if (served->hit.plan != nullptr) return served->hit;
    // What was refused once is refused until the tables change.
    const auto refused = refusals_.find({hash.high, hash.low});
    if (refused != refusals_.end()) fail(refused->second.code, "{}", refused->second.why);
  }
  Made made = serve(key);
  if (made.hit.not_ready && !made.missing.empty() && options.building == Building::blocking) {
    lock.unlock();
    compile(made.missing);
    lock.lock();
    made = serve(key);
  }
  if (!wanted_.empty()) inbox.wake();
  if (made.hit.plan == nullptr) fail(made.refusal.code, "{}", made.refusal.why);
  if (made.own) own_.insert_or_assign(std::this_thread::get_id(), std::move(made.own));
  return made.hit;
}

/// In children, behind limits and a deadline; what fails is not there afterwards.
void Dispatcher::State::compile(const std::vector<CompileTask>& tasks) const {
  if (cache_.empty()) return;
  constexpr uint64_t kCacheBytes = uint64_t{4} << 30;
  try {
    KernelCache cache({cache_}, kCacheBytes);
    CompilePool pool(cache, {.jobs = 1});
    for (const CompileTask& task : tasks) pool.submit(task);
    // A program that ends does not wait for a compiler: the pool takes its processes with it.
    while (pool.unanswered() > 0 && !stop_) pool.wait(Milliseconds(100));
  } catch (const Error&) {
    // The untuned plan goes on to serve.
  }
}

void Dispatcher::State::work_on(const Inbox::Posted& posted) {
  {
    const std::lock_guard lock(making_);
    const Served* served = now.load()->served.find(hash_of(posted.key));
    if (served == nullptr) serve(posted.key);
  }
  inbox.done(posted);
}

/// One shape that waits for its kernel; false: none does.
bool Dispatcher::State::compile_one() {
  GemmKey key;
  Made made;
  {
    const std::lock_guard lock(making_);
    if (wanted_.empty()) return false;
    key = wanted_.back();
    wanted_.pop_back();
    made = make(*now.load(), key);
  }
  if (!made.hit.not_ready || made.missing.empty()) return true;
  compile(made.missing);
  const std::lock_guard lock(making_);
  serve(key);
  return true;
}

/// The dispatcher's own thread. Whatever goes wrong in it, the application goes on with the answers there are.
void Dispatcher::State::work() noexcept {
  constexpr std::chrono::milliseconds kMost = std::chrono::hours(24), kFlush = std::chrono::seconds(5);
  const bool looks = options.look_every.count() > 0;
  const auto look_every = looks ? std::min(options.look_every, kMost) : kMost;
  const auto nap = std::min(look_every, kFlush);
  auto next_look = std::chrono::steady_clock::now() + look_every;
  auto next_flush = std::chrono::steady_clock::now() + kFlush;
  while (!stop_) {
    try {
      inbox.wait(nap);
      for (const Inbox::Posted& posted : inbox.take()) {
        if (stop_) return;
        work_on(posted);
      }
      while (!stop_ && compile_one()) continue;
      const auto time = std::chrono::steady_clock::now();
      if (time >= next_look) {
        next_look = time + look_every;
        if (looks) look_again();
      }
      if (time < next_flush || !capture) continue;
      next_flush = time + kFlush;
      if (const std::string why = capture->flush(); !why.empty()) log_.say(why);
    } catch (...) {
      // Out of memory, most likely; what was to be done is asked for again.
    }
  }
}

bool Dispatcher::State::reload() {
  {
    const std::lock_guard lock(making_);
    // In the caller's thread, which knows whether another one changes the environment now.
    for (size_t op = 0; op < kNumOps; ++op) places_[op] = table_places(families()[op]);
  }
  return look_again();
}

bool Dispatcher::State::look_again() {
  const std::lock_guard lock(making_);
  Snapshot* const before = now.load();
  bool changed = false;
  auto fresh = read_tables(before, changed);
  if (!changed) return false;
  refusals_.clear();
  asked_for_.clear();
  for (const Served& served : before->served.all()) {
    try {
      const Made made = make(*fresh, served.key);
      // A plan that there was no room for is nobody's: the shape is a new one again.
      if (made.own || made.hit.plan == nullptr) continue;
      fresh->served.put({served.hash, served.key, made.hit});
      want_compiled(served.key, made);
    } catch (const Error&) {
      // It was none before, and is said again when it is asked for.
    }
  }
  for (const Snapshot::Tables& tables : fresh->tables) {
    for (const std::string& notice : tables.rows->notices()) log_.say(notice);
  }
  now.store(fresh.release(), std::memory_order_seq_cst);
  ++num_reloads_;
  if (wait_for_readers()) delete before;
  return true;
}

std::string Dispatcher::State::explain(const GemmKey& key) {
  const std::lock_guard lock(making_);
  const auto op = static_cast<size_t>(key.op);
  if (op >= kNumOps) return "there is no op of that number\n";
  const KeyCodes& own = codes[op];
  const RowIndex& rows = *now.load()->tables[op].rows;
  const HalfKey half = own.half(key);
  std::string text;
  for (const auto& step : LookupSteps(own.pads_m(), key.m, key.n)) {
    const uint32_t number = rows.find(half.with_m(step.m));
    const auto* row = number == 0 ? nullptr : &rows.row(number);
    text += fmt::format("{:<14} m={}: {}\n", name(step.match), step.m,
                        row == nullptr ? "no row" : fmt::format("{} {}", rows.where(*row), rows.kernel_name(*row)));
  }
  const Served* served = now.load()->served.find(half.with_m(key.m));
  if (served == nullptr) return text + "not called yet\n";
  const Hit& hit = served->hit;
  return text + fmt::format("served by       {}{}{}\n", hit.row == 0 ? "the untuned config" : name(hit.match),
                            hit.not_ready ? ", untuned until its kernel is compiled" : "",
                            hit.drifted ? ", compiled by another compiler" : "");
}

void Dispatcher::State::finish() {
  if (finished_.exchange(true)) return;
  const bool is_fork = process_ != ::getpid();
  if (is_fork) {
    new std::thread(std::move(thread_));  // It is the parent's, and nothing can be done with it here.
  } else if (thread_.joinable()) {
    stop_ = true;
    inbox.wake();
    // A library that is being taken down may hold the thread for ever: the process's end does not wait for it.
    constexpr int kMostMilliseconds = 2000;
    for (int i = 0; i < kMostMilliseconds && !is_done_; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (is_done_)
      thread_.join();
    else
      new std::thread(std::move(thread_));
  }
  const std::string why = capture ? capture->flush() : std::string();
  if (is_fork) return;  // The log's lock may be another thread's of the parent for ever.
  if (!why.empty()) log_.insist(why);
  const DispatchCounts all = counts();
  log_.finish(all.calls, all.misses, all.missed_shapes);
}

}  // namespace attune
