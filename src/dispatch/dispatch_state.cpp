// SPDX-License-Identifier: MIT
#include "dispatch/dispatch_state.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/locations.h"
#include "compile/cache_limit.h"
#include "compile/compile_pool.h"
#include "dispatch/capture/capture_files.h"
#include "dispatch/table/key_problem.h"
#include "dispatch/table/table_sources.h"
#include "dispatch/table/wanted_requirement.h"
#include "dispatch/threads/library_use.h"
#include "dispatch/threads/read_guard.h"
#include "ops/op.h"

namespace attune {
namespace {

constexpr size_t kMaxShapesKept = 16384;  // Maximum size of LimitedDevice::refusals and of requested_kernels.

/// Throws invalid_input for options that exclude each other.
DispatcherOptions consistent(DispatcherOptions options) {
  if (options.online_tuning && options.require != Requirement::none)
    fail(ErrorCode::invalid_input,
         "online tuning finds rows that state no requirement, so it cannot be combined with one, here {}",
         text(options.require));
  options.max_regret = regret_under(options.require, options.max_regret);
  return options;
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

/// A function for each number of layouts, so that a lookup in one keeps its hit in registers.
template <size_t kLayouts>
[[gnu::noinline]] Hit first_row_of(const RowIndex& rows, const GemmKey& key, bool pads_m,
                                   std::span<const HalfKey> halves, double max_regret) noexcept {
  MatchedRow first{.match = Match::fallback};
  visit_rows<kLayouts>(rows, key.m, key.n, pads_m, halves, max_regret, [&](const MatchedRow& met) {
    first = met;
    return true;
  });
  return {
      .row = first.number, .match = first.match, .regret_percent = percent_of(first.regret), .layout = first.layout};
}

}  // namespace

Hit first_row(const RowIndex& rows, const GemmKey& key, bool pads_m, std::span<const HalfKey> halves,
              double max_regret) noexcept {
  return halves.size() == 1 ? first_row_of<1>(rows, key, pads_m, halves, max_regret)
                            : first_row_of<LayoutSet::kMax>(rows, key, pads_m, halves, max_regret);
}

Dispatcher::State::State(DispatcherOptions wanted)
    : options(consistent(std::move(wanted))),
      cache_(path_if_any(cache_location)),
      plans_(options.max_plan_bytes, new_hazard_owner()) {
  for (const FamilySpec& family : families()) {
    codes.emplace_back(family);
    places_.push_back(table_places(family));
  }
  open_device_without_limit();
  set_threads(options.threads);
  first_ = limited.load();
  if (options.online_tuning) begin_online_tuning();
  if (!options.capture.empty()) capture = std::make_unique<Capture>(options.capture);
  const auto all = notices();
  // The notices of the solver modules come first and belong to the process, so only its first dispatcher logs them.
  static std::atomic<bool> are_said{false};
  const size_t num_said = are_said.exchange(true) ? registry(HostProcess::application).notices().size() : 0;
  for (size_t i = num_said; i < all.size(); ++i) log_.say(all[i]);
  prepare_read_guards();
  thread_ = std::make_unique<BackgroundThread>([this] {
    work();
    if (online_) online_->end();
  });
}

Dispatcher::State::~State() {
  stop_ = true;
  inbox.wake();
  thread_.reset();  // Wait for the thread: the members that it uses are destroyed next.
  finish();
  forget_hazard_owner(plans_.holder());
}

DispatchCounts Dispatcher::State::counts() const {
  const CallCounters::Sums sums = counters.sums();
  return {.calls = sums.calls,
          .misses = sums.misses,
          .shapes = num_shapes_,
          .missed_shapes = num_missed_shapes_,
          .plans = plans_.counts().plans,
          .reloads = num_reloads_,
          .plan_bytes = plans_.counts().bytes,
          .evicted_plans = plans_.counts().evicted,
          .plan_limit_reached = plans_.counts().limit_reached};
}

ProblemKey Dispatcher::State::hash_of(const LookupRequest& request) const noexcept {
  return request.hash(codes[static_cast<size_t>(request.key.op)]);
}

/// Sets `changed` if anything differs from `before`; reuses the tables that do not differ.
std::unique_ptr<Snapshot> Dispatcher::State::read_tables(const DeviceInfo& device, const Snapshot* before,
                                                         bool& changed) const {
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
    if (before != nullptr && before->tables[op].stamps == tables.stamps &&
        before->tables[op].notices == tables.notices) {
      tables.rows = before->tables[op].rows;
      continue;
    }
    changed = true;
    tables.rows = std::make_shared<const RowIndex>(codes[op], std::move(sources.files), device, options.require);
  }
  return fresh;
}

std::vector<std::string> Dispatcher::State::notices() {
  const std::lock_guard lock(making_);
  const auto of_solvers = registry(HostProcess::application).notices();
  std::vector<std::string> all(of_solvers.begin(), of_solvers.end());
  for (const Snapshot::Tables& tables : limited.load()->now.load()->tables) {
    all.insert(all.end(), tables.notices.begin(), tables.notices.end());
    all.insert(all.end(), tables.rows->notices().begin(), tables.rows->notices().end());
  }
  return all;
}

std::vector<TableInUse> Dispatcher::State::tables() {
  const std::lock_guard lock(making_);
  std::vector<TableInUse> all;
  const Snapshot& current = *limited.load()->now.load();
  for (size_t op = 0; op < kNumOps; ++op) {
    const Snapshot::Tables& tables = current.tables[op];
    for (size_t i = 0; i < tables.stamps.size(); ++i) {
      const FileStamp& stamp = tables.stamps[i];
      all.push_back({std::string(families()[op].op), stamp.file, std::string(tables.origins[i]), stamp.inode != 0});
    }
  }
  return all;
}

/// Requires: making_ is held.
Resolution Dispatcher::State::make(LimitedDevice& device, const Snapshot& tables, const LookupRequest& request) {
  const auto op = static_cast<size_t>(request.key.op);
  return device.resolver.resolve(codes.at(op), *tables.tables[op].rows, request, options.max_regret);
}

/// Stores and returns the answer to a problem. A plan too large to be kept serves this call only. Requires: making_ is
/// held, and make_room() is called afterwards.
Resolution Dispatcher::State::serve(const LookupRequest& request) {
  LimitedDevice& device = device_of(request);
  Snapshot& tables = *device.now.load();
  Resolution made;
  try {
    made = make(device, tables, request);
    made.refusal = {ErrorCode::unavailable, fmt::format("no kernel runs this problem: {}", made.why_not)};
  } catch (const Error& error) {
    made.refusal = {error.code(), error.what()};
  }
  const ProblemKey hash = hash_of(request);
  tables.served.put(served_with(tables, made, request, tables.served.find(hash)));
  if (made.hit.plan == nullptr && made.hit.is_stand_in && options.compile_mode != CompileMode::never) {
    // Not a refusal: the answer waits for a compiler.
  } else if (made.hit.plan == nullptr) {
    if (device.refusals.size() < kMaxShapesKept) device.refusals.insert_or_assign({hash.high, hash.low}, made.refusal);
    log_.say(fmt::format("a shape cannot be served: {}", made.refusal.why));
  }
  want_compiled(request, made);
  return made;
}

/// Queues a stand-in for compilation, after which it is resolved again; once per shape until the tables change.
void Dispatcher::State::want_compiled(const LookupRequest& request, const Resolution& made) {
  if (options.compile_mode != CompileMode::background || !made.hit.is_stand_in || made.missing.empty()) return;
  const ProblemKey hash = hash_of(request);
  auto& requested = device_of(request).requested_kernels;
  if (requested.size() < kMaxShapesKept && requested.insert({hash.high, hash.low}).second) wanted_.push_back(request);
}

/// Counts and logs a shape that is answered for the first time, or that no row serves any more because its kernel
/// cannot be compiled or the row left the table. Records it for online tuning. Returns whether the shape was ever
/// missed.
bool Dispatcher::State::note(const Snapshot& tables, const LookupRequest& request, const CachedAnswer* before,
                             const CachedAnswer& served) {
  const GemmKey& key = served.key;
  const Hit& hit = served.hit;
  const bool is_first = before == nullptr || !before->was_served;
  const bool is_missed = hit.row == 0 && !served.was_missed;
  if (is_first) ++num_shapes_;
  if (is_missed) ++num_missed_shapes_;
  // A prediction's bound is no proof, so its shape is tuned too.
  const bool is_predicted = hit.match == Match::predicted && (is_first || !before->was_predicted);
  if (online_ && (is_missed || is_predicted) && served.layouts == nullptr && missed_.size() < OnlineTuning::kMaxShapes)
    missed_.push_back(request);
  const bool was_missed = served.was_missed || is_missed;
  if (!is_missed && !(is_first && options.log_hits)) return was_missed;
  const auto problem = problem_of(codes[static_cast<size_t>(key.op)], key);
  if (!problem) return was_missed;
  const RowIndex& rows = *tables.tables[static_cast<size_t>(key.op)].rows;
  if (hit.row == 0) {
    log_.say(fmt::format("no row of a table serves {}, it runs untuned", problem->key()));
  } else {
    const RowIndex::Row& row = rows.row(hit.row);
    log_.say(fmt::format("{}: {} of {}: {}", problem->key(), name(hit.match), rows.where(row), rows.kernel_name(row)));
  }
  return was_missed;
}

Hit Dispatcher::State::require(LookupRequest request) {
  const GemmKey& key = request.key;
  request.units = threads();
  if (static_cast<size_t>(key.op) >= kNumOps)
    fail(ErrorCode::invalid_input, "unknown op number: {}", static_cast<int>(key.op));
  const KeyCodes& own = codes[static_cast<size_t>(key.op)];
  own.check_fits(key);
  std::unique_lock lock = begin_making();
  const ProblemKey hash = hash_of(request);
  LimitedDevice& device = device_of(request);
  const CachedAnswer* served = device.now.load()->served.find(hash);
  if (served != nullptr && served->layouts == request.layouts && own.same(served->key, key)) {
    if (is_final(served->hit)) {
      protect_plan(plans_.holder(), served->plan);
      return served->hit;
    }
    // A refused problem stays refused until the tables change.
    const auto refused = device.refusals.find({hash.high, hash.low});
    if (refused != device.refusals.end()) fail(refused->second.code, "{}", refused->second.why);
  }
  Resolution made = serve(request);
  // Without a plan, only a generated kernel takes these types or this layout of weights: there is no stand-in.
  const bool waits = options.compile_mode == CompileMode::blocking ||
                     (made.hit.plan == nullptr && options.compile_mode != CompileMode::never);
  // If a kernel cannot be compiled, another row may serve, whose kernel may need compiling too.
  constexpr int kMaxRounds = 8;
  for (int round = 0; waits && !made.missing.empty() && round < kMaxRounds; ++round) {
    lock.unlock();
    auto failures = compile(made.missing);
    lock.lock();
    device.maker.note_failures(std::move(failures));
    made = serve(request);
  }
  if (!wanted_.empty() || !missed_.empty()) inbox.wake();
  if (made.hit.plan == nullptr) fail(made.refusal.code, "{}", made.refusal.why);
  protect_plan(plans_.holder(), made.plan);
  make_room();
  return made.hit;
}

/// Compiles in child processes with limits and a deadline. Returns the failed recipes with the reasons.
std::map<std::string, std::string> Dispatcher::State::compile(const std::vector<CompileTask>& tasks) const {
  std::map<std::string, std::string> failures;
  try {
    // Starting compilers takes locks, which a child of fork() must find open.
    std::optional<LibraryUse> use(std::in_place);
    if (cache_.empty()) fail(ErrorCode::unavailable, "there is no folder for compiled kernels, set ATTUNE_CACHE");
    KernelCache cache({cache_}, cache_limit(kApplicationCacheBytes).bytes);
    CompilePool pool(cache, {.jobs = 1});
    for (const CompileTask& task : tasks) pool.submit(task);
    // An ending program does not wait for a compiler: the pool kills its processes.
    while (pool.unanswered() > 0 && !stop_) {
      for (const CompileResult& one : pool.wait(Milliseconds(20))) {
        if (!one.outcome.ok()) failures.emplace(one.recipe, one.outcome.detail);
      }
      use.reset();  // Lets a thread that forks, or ends the process, proceed.
      use.emplace();
    }
  } catch (const Error& error) {
    for (const CompileTask& task : tasks) failures.emplace(task.recipe(), error.what());
  }
  return failures;
}

void Dispatcher::State::work_on(const Inbox::Item& item) {
  {
    const std::lock_guard lock(guard_);
    const CachedAnswer* served = device_of(item.request).now.load()->served.find(hash_of(item.request));
    if (served == nullptr || served->has_left) {
      serve(item.request);
      make_room();
    }
  }
  inbox.done(item);
}

/// Compiles the kernel of one waiting shape; returns false if none waits.
bool Dispatcher::State::compile_one() {
  LookupRequest request;
  Resolution made;
  {
    const std::lock_guard lock(guard_);
    if (wanted_.empty()) return false;
    request = wanted_.back();
    wanted_.pop_back();
    LimitedDevice& device = device_of(request);
    made = make(device, *device.now.load(), request);
  }
  if (!made.hit.is_stand_in || made.missing.empty()) return true;
  auto failures = compile(made.missing);
  const std::lock_guard lock(guard_);
  if (!failures.empty()) {
    // Another row may serve now, and its kernel may need compiling too.
    const ProblemKey hash = hash_of(request);
    LimitedDevice& device = device_of(request);
    device.requested_kernels.erase({hash.high, hash.low});
    device.maker.note_failures(std::move(failures));
  }
  serve(request);
  make_room();
  return true;
}

/// Body of the dispatcher's thread. After any error in it, the application continues with the existing answers.
void Dispatcher::State::work() noexcept {
  constexpr std::chrono::milliseconds kMax = std::chrono::hours(24), kFlush = std::chrono::seconds(5);
  const bool looks = options.poll_interval.count() > 0;
  const auto poll_interval = looks ? std::min(options.poll_interval, kMax) : kMax;
  const auto period = std::min(poll_interval, kFlush);
  auto next_look = std::chrono::steady_clock::now() + poll_interval;
  auto next_flush = std::chrono::steady_clock::now() + kFlush;
  while (!stop_) {
    try {
      inbox.wait(period);
      for (const Inbox::Item& item : inbox.take()) {
        if (stop_) return;
        try {
          work_on(item);
        } catch (...) {
          inbox.done(item);  // A later lookup posts it again.
        }
      }
      if (!stop_ && compile_one())
        inbox.wake();  // One shape at a time, so that new shapes, changed files and missed shapes need not wait for
                       // all.
      if (online_) tune_missed();
      const auto time = std::chrono::steady_clock::now();
      if (time >= next_look) {
        next_look = time + poll_interval;
        if (looks) reload_if_changed();
      }
      if (time < next_flush || !capture) continue;
      next_flush = time + kFlush;
      if (const std::string why = capture->flush(); !why.empty()) log_.say(why);
    } catch (...) {
      // Most likely out of memory. Later lookups ask for the work again.
    }
  }
}

bool Dispatcher::State::reload() {
  {
    const std::lock_guard lock(making_);
    // The environment is read in the caller's thread, which must know whether another thread changes it now.
    for (size_t op = 0; op < kNumOps; ++op) places_[op] = table_places(families()[op]);
    for (const auto& device : owned_devices_) device->maker.forget_failures();
  }
  return reload_if_changed();
}

bool Dispatcher::State::reload_if_changed() {
  const std::lock_guard lock(guard_);
  bool any_changed = false;
  for (const auto& device : owned_devices_) {
    Snapshot* const before = device->now.load();
    bool changed = false;
    auto fresh = read_tables(device->maker.device(), before, changed);
    if (!changed) continue;
    any_changed = true;
    device->maker.forget_failures();
    device->refusals.clear();
    device->requested_kernels.clear();
    serve_again(*device, *fresh);
    if (device.get() == limited.load()) log_notices(*fresh);
    device->now.store(fresh.release(), std::memory_order_seq_cst);
    if (wait_for_readers()) delete before;
  }
  if (!any_changed) return false;
  ++num_reloads_;
  if (!wanted_.empty() || !missed_.empty()) inbox.wake();
  return true;
}

void Dispatcher::State::finish() {
  if (finished_.exchange(true)) return;
  const bool is_child = guard_.is_in_child();
  if (thread_ && !is_child) {
    stop_ = true;
    inbox.wake();
    // A library that is being destroyed may block the thread forever, so the end of the process does not wait for it.
    // Otherwise the destructor does, if it runs.
    if (thread_->wait(std::chrono::seconds(2))) thread_.reset();
  }
  const std::string why = capture ? capture->flush() : std::string();
  if (is_child) return;  // Another thread of the parent may have held the log's lock.
  if (!why.empty()) log_.say_always(why);
  log_.finish(counts(), capture != nullptr);
}

}  // namespace attune
