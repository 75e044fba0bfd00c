// SPDX-License-Identifier: MIT
#include "compile/compile_pool.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <list>
#include <map>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "compile/command_compilation.h"
#include "process/poll_set.h"
#include "process/temporary_folder.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using Clock = Compilation::Clock;

constexpr Milliseconds kLongestPoll{60'000};

[[noreturn]] void fail_to_keep(const fs::path& target, const std::error_code& error) {
  fail(ErrorCode::io, "cannot keep the files of a compilation ({}), choose another folder: '{}'", error.message(),
       target.string());
}

/// A task that waits for a free process.
struct QueuedTask {
  CompileTask task;
  std::string recipe;
};

}  // namespace

struct CompilePool::State {
  State(KernelCache& the_cache, PoolOptions the_options) : cache(the_cache), options(std::move(the_options)) {
    options.jobs = std::min(options.jobs > 0 ? options.jobs : share.num_jobs(), share.num_jobs());
    poll_set.watch(share.descriptor());
  }

  KernelCache& cache;
  PoolOptions options;
  TemporaryFolder scratch{"compile"};
  std::deque<QueuedTask> submitted, prefetched;  ///< Tasks in both are not in the cache, and their compiler exists.
  std::list<QueuedTask> elsewhere;               ///< Another pool compiles these.
  PollSet poll_set;
  SharedCompilations::Member share{options.shared ? options.shared
                                                  : std::make_shared<SharedCompilations>(options.jobs)};
  CompileHelpers helpers{std::move(options.helper), poll_set};
  std::list<std::unique_ptr<Compilation>> running;  ///< Each has a place.
  std::list<std::unique_ptr<Compilation>> stopped;  ///< Until they have a place again.
  std::map<std::string, size_t> due;                ///< Number of answers due for each recipe that was submitted.
  std::map<std::string, CompileResult> failures;    ///< In this pool.
  std::set<std::string> unbuilt;                    ///< Recipes whose compiler is missing, not in the cache when asked.
  std::map<std::string, double> build_seconds;      ///< By recipe, for binaries that this pool made or found.
  std::deque<CompileResult> answers;
  bool paused = false;

  const Compiler* find(std::string_view name) const {
    if (options.compilers.empty()) return find_compiler(name);
    const auto found = std::find_if(options.compilers.begin(), options.compilers.end(),
                                    [&](const Compiler* one) { return one->name() == name; });
    return found == options.compilers.end() ? nullptr : *found;
  }
  bool is_under_way(const std::string& recipe) const {
    const auto is_it = [&](const auto& one) { return one->recipe() == recipe; };
    return std::any_of(running.begin(), running.end(), is_it) || std::any_of(stopped.begin(), stopped.end(), is_it) ||
           std::any_of(elsewhere.begin(), elsewhere.end(), [&](const QueuedTask& one) { return one.recipe == recipe; });
  }
  /// Whether no task is running or waiting.
  bool is_idle() const {
    return running.empty() && stopped.empty() && elsewhere.empty() && submitted.empty() && prefetched.empty();
  }
  auto find_prefetched(const std::string& recipe) {
    return std::find_if(prefetched.begin(), prefetched.end(),
                        [&](const QueuedTask& one) { return one.recipe == recipe; });
  }

  std::optional<CompileResult> known(const CompileTask& task, const std::string& recipe);
  double seconds_of(const std::string& recipe) const {
    const auto found = build_seconds.find(recipe);
    if (found != build_seconds.end()) return found->second;
    const auto ended = share.ended(recipe);
    return ended ? ended->seconds : 0;
  }
  CompileResult remember(CompileResult result);
  void answer(const CompileResult& result);
  void submit(const CompileTask& task, const std::string& recipe);
  bool answer_without_compiler(const QueuedTask& one);
  void queue_first(QueuedTask task) {
    (due.contains(task.recipe) ? submitted : prefetched).push_front(std::move(task));
  }
  void take_back_from_others();
  void stop_all();
  void start_waiting();
  bool starts_one();
  bool continues_one();
  void start(QueuedTask next);
  void collect(std::list<std::unique_ptr<Compilation>>& jobs);
  std::unique_ptr<Compilation> begun(CompileTask task);
  void finish(Compilation& ended);
  void begin_again(const Compilation& dead);
  void keep_files(const Compilation& ended) const;
  void keep_cached(const CompileTask& task, const Binary& binary) const;
  Clock::time_point next_deadline() const;
  void set_timer() noexcept;
  void sleep(Clock::time_point end);
};

/// Returns the answer that needs no compiler: a failure in this pool or one that shares, a cached binary or rejection,
/// or a missing compiler.
std::optional<CompileResult> CompilePool::State::known(const CompileTask& task, const std::string& recipe) {
  if (const auto found = failures.find(recipe); found != failures.end()) return found->second;
  if (const auto ended = share.ended(recipe); ended && !ended->outcome.ok())
    return remember({.recipe = recipe, .outcome = ended->outcome, .binary = {}, .seconds = ended->seconds});
  std::string toolchain, reason;
  const Compiler* compiler = find(task.compiler);
  try {
    if (!compiler)
      reason = fmt::format("this build has no such compiler: '{}'", task.compiler);
    else if (!compiler->targets(task.arch))
      reason = fmt::format("the compiler {} does not compile for this architecture: '{}'", task.compiler, task.arch);
    else
      toolchain = compiler->toolchain();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unavailable) throw;
    reason = error.what();
  }
  // Without its compiler, a cached binary of another machine is accepted.
  const auto pinned = options.stored_toolchains.find(task.compiler);
  const bool is_pinned = !reason.empty() && pinned != options.stored_toolchains.end() && !pinned->second.empty();
  if (is_pinned) toolchain = pinned->second;
  if (!reason.empty()) cache.settle(task.arch, recipe);
  auto binary = cache.find(task.arch, recipe, toolchain);
  if (binary && (binary->toolchain == toolchain || (!reason.empty() && !is_pinned))) {
    if (!options.keep.empty()) keep_cached(task, *binary);
    return remember({.recipe = recipe,
                     .outcome = {},
                     .binary = std::move(binary),
                     .from_cache = true,
                     .seconds = seconds_of(recipe)});
  }
  if (reason.empty()) {
    const auto why = cache.rejection(task.arch, recipe, toolchain);
    if (!why) return std::nullopt;
    return remember({.recipe = recipe,
                     .outcome = {.status = Status::compile_failed, .detail = *why},
                     .binary = {},
                     .from_cache = true,
                     .is_rejected = true});
  }
  if (is_pinned) reason = "its kernel is not built: " + reason;
  CompileResult missing{.recipe = recipe,
                        .outcome = {.status = Status::unsupported, .detail = std::move(reason)},
                        .binary = {},
                        .is_unbuilt = true};
  if (!is_pinned) return remember(std::move(missing));
  unbuilt.insert(recipe);  // Another machine may build it, so each call looks again.
  return missing;
}

CompileResult CompilePool::State::remember(CompileResult result) {
  if (result.outcome.ok())
    build_seconds[result.recipe] = result.seconds;
  else
    failures[result.recipe] = result;
  return result;
}

/// Answers each call that submitted the recipe; none did if it was prefetched.
void CompilePool::State::answer(const CompileResult& result) {
  const auto count = due.find(result.recipe);
  if (count == due.end()) return;
  for (size_t i = 0; i < count->second; ++i) answers.push_back(result);
  due.erase(count);
}

void CompilePool::State::submit(const CompileTask& task, const std::string& recipe) {
  if (++due[recipe] > 1 || is_under_way(recipe)) return;
  if (const auto early = find_prefetched(recipe); early != prefetched.end()) {
    submitted.push_back(std::move(*early));
    prefetched.erase(early);
    return;
  }
  try {
    if (const auto result = known(task, recipe))
      answer(*result);
    else
      submitted.push_back({task, recipe});
  } catch (...) {
    due.erase(recipe);
    throw;
  }
}

/// Answers a task that another pool compiled or failed to compile. False: its binary is not in the cache.
bool CompilePool::State::answer_without_compiler(const QueuedTask& one) {
  try {
    const auto result = known(one.task, one.recipe);
    if (result) answer(*result);
    return result.has_value();
  } catch (...) {
    due.erase(one.recipe);
    throw;
  }
}

/// Looks at the tasks that other pools compiled. A task that a pool gave up is compiled here, before all waiting tasks.
void CompilePool::State::take_back_from_others() {
  for (auto one = elsewhere.begin(); one != elsewhere.end();) {
    if (share.is_elsewhere(one->recipe)) {
      ++one;
      continue;
    }
    const QueuedTask task = std::move(*one);
    one = elsewhere.erase(one);
    if (!answer_without_compiler(task)) queue_first(task);
  }
}

/// Stops all running compilations, because their places now belong to other pools.
void CompilePool::State::stop_all() {
  for (const auto& job : running) job->stop();
  stopped.splice(stopped.end(), running);
}

void CompilePool::State::start_waiting() {
  if (share.attend()) stop_all();
  if (paused) return;
  take_back_from_others();
  while (running.size() < options.jobs) {
    const bool has_more = !stopped.empty() || !submitted.empty() || !prefetched.empty();
    if (!has_more) break;
    if (!(stopped.empty() ? starts_one() : continues_one())) return;
  }
  share.leave_line();
}

/// Resumes a stopped compilation, or leaves its task to another pool that has begun it. False: there is no place.
bool CompilePool::State::continues_one() {
  const auto job = stopped.begin();
  const std::string recipe = (*job)->recipe();
  const auto begun = share.begin(recipe);
  if (begun == SharedCompilations::Begin::no_place) return false;
  if (begun == SharedCompilations::Begin::ours) {
    (*job)->resume();
    running.splice(running.end(), stopped, job);
    return true;
  }
  elsewhere.push_back({(*job)->task(), recipe});
  std::error_code ignored;
  const fs::path folder = (*job)->folder();
  stopped.erase(job);
  fs::remove_all(folder, ignored);
  take_back_from_others();
  return true;
}

/// Starts the next task, answers it, or leaves it to the pool that compiles it. False: there is no place.
bool CompilePool::State::starts_one() {
  using Begin = SharedCompilations::Begin;
  auto& queue = submitted.empty() ? prefetched : submitted;
  Begin begun = share.begin(queue.front().recipe);
  if (begun == Begin::ended) {
    const QueuedTask next = std::move(queue.front());
    queue.pop_front();
    if (answer_without_compiler(next)) return true;
    queue.push_front(next);
    begun = share.begin(next.recipe, true);
  }
  if (begun == Begin::no_place) return false;
  QueuedTask next = std::move(queue.front());
  queue.pop_front();
  if (begun == Begin::elsewhere)
    elsewhere.push_back(std::move(next));
  else
    start(std::move(next));
  return true;
}

std::unique_ptr<Compilation> CompilePool::State::begun(CompileTask task) {
  const Compiler& compiler = *find(task.compiler);
  const fs::path folder = scratch.path() / task.recipe();
  if (const LibraryCompiler* library = compiler.library())
    return std::make_unique<HelperCompilation>(std::move(task), *library, folder, options.deadline, helpers);
  return std::make_unique<CommandCompilation>(std::move(task), compiler, folder, options.deadline, poll_set);
}

void CompilePool::State::start(QueuedTask next) {
  try {
    running.push_back(begun(std::move(next.task)));
  } catch (const Error& error) {
    share.end(next.recipe, nullptr);
    // Other errors (a full disk, no more processes) are not the task's fault. They end this call, and the task is
    // dropped.
    if (error.code() != ErrorCode::unavailable && error.code() != ErrorCode::invalid_input) {
      due.erase(next.recipe);
      throw;
    }
    const Status status = error.code() == ErrorCode::invalid_input ? Status::compile_failed : Status::unsupported;
    answer(remember({.recipe = next.recipe, .outcome = {.status = status, .detail = error.what()}, .binary = {}}));
  }
}

void CompilePool::State::collect(std::list<std::unique_ptr<Compilation>>& jobs) {
  for (auto job = jobs.begin(); job != jobs.end();) {
    if (!(*job)->has_ended()) {
      ++job;
      continue;
    }
    // The job leaves the list first: if finish() throws, no dead process must remain there.
    const std::unique_ptr<Compilation> ended = std::move(*job);
    job = jobs.erase(job);
    if (&jobs == &stopped) ended->resume();  // A helper that answered before it was stopped is reused.
    finish(*ended);
  }
}

void CompilePool::State::finish(Compilation& ended) {
  try {
    CompileResult result = ended.result();
    if (!result.outcome.ok() && !ended.is_of_this_thread()) return begin_again(ended);
    if (!options.keep.empty()) keep_files(ended);
    if (result.binary) result.binary = cache.add(*std::move(result.binary));
    if (result.is_rejected) cache.reject(ended.description(), result.outcome.detail);
    const SharedCompilations::Ended how{result.outcome, result.seconds};
    share.end(ended.recipe(), &how);
    answer(remember(std::move(result)));
  } catch (...) {
    share.end(ended.recipe(), nullptr);
    due.erase(ended.recipe());
    throw;
  }
  std::error_code ignored;
  fs::remove_all(ended.folder(), ignored);
}

/// Queues the task of a compilation that may have died with its thread, before all waiting tasks.
void CompilePool::State::begin_again(const Compilation& dead) {
  share.end(dead.recipe(), nullptr);
  std::error_code ignored;
  fs::remove_all(dead.folder(), ignored);
  queue_first({dead.task(), dead.recipe()});
}

void CompilePool::State::keep_files(const Compilation& ended) const {
  make_private_folder(options.keep);
  const fs::path target = options.keep / ended.recipe();
  std::error_code error;
  fs::remove_all(target, error);
  if (!fs::exists(ended.folder(), error)) return;  // The compiler removed it.
  fs::copy(ended.folder(), target, fs::copy_options::recursive, error);
  if (error) fail_to_keep(target, error);
}

/// Keeps a kernel of an earlier run like one that is compiled in this one.
void CompilePool::State::keep_cached(const CompileTask& task, const Binary& binary) const {
  const fs::path target = options.keep / binary.recipe;
  std::error_code error;
  if (fs::exists(target, error)) return;
  make_private_folder(target);
  write_task_file(target / "source", task.source);
  // Another device of this run may keep it too, and without leases another process may have evicted it.
  fs::copy_file(binary.file, target / "binary", fs::copy_options::overwrite_existing, error);
  if (error && error != std::errc::no_such_file_or_directory) fail_to_keep(target, error);
}

Clock::time_point CompilePool::State::next_deadline() const {
  Clock::time_point next = Clock::time_point::max();
  for (const auto& job : running) next = std::min(next, job->end());
  return next;
}

/// Makes the poll set readable when wait(0) has work; ended processes do that by themselves.
void CompilePool::State::set_timer() noexcept {
  const Clock::time_point next =
      std::min(next_deadline(), share.look_after_others().value_or(Clock::time_point::max()));
  if (!answers.empty())
    poll_set.wake_in(std::chrono::nanoseconds(0));
  else if (paused || next == Clock::time_point::max())
    poll_set.wake_in(std::nullopt);
  else
    poll_set.wake_in(next - Clock::now());
}

void CompilePool::State::sleep(Clock::time_point end) {
  set_timer();
  const auto left = std::chrono::ceil<Milliseconds>(end - Clock::now());
  poll_set.wait(std::clamp(left, Milliseconds(0), kLongestPoll));
}

CompilePool::CompilePool(KernelCache& cache, PoolOptions options)
    : state_(std::make_unique<State>(cache, std::move(options))) {}

CompilePool::~CompilePool() = default;

void CompilePool::submit(const CompileTask& task) {
  state_->submit(task, task.recipe());
  state_->start_waiting();
  state_->set_timer();
}

void CompilePool::prefetch(const CompileTask& task) {
  const std::string recipe = task.recipe();
  const bool is_in_progress = state_->due.contains(recipe) || state_->is_under_way(recipe) ||
                              state_->find_prefetched(recipe) != state_->prefetched.end();
  if (is_in_progress || ready(recipe) || state_->known(task, recipe)) return;
  state_->prefetched.push_back({task, recipe});
  state_->start_waiting();
  state_->set_timer();
}

std::optional<CompileResult> CompilePool::known(const CompileTask& task) { return state_->known(task, task.recipe()); }

bool CompilePool::ready(const std::string& recipe) const {
  return state_->build_seconds.contains(recipe) || state_->failures.contains(recipe) ||
         state_->unbuilt.contains(recipe);
}

size_t CompilePool::unanswered() const noexcept {
  size_t count = state_->answers.size();
  for (const auto& [recipe, answers] : state_->due) count += answers;
  return count;
}

std::vector<CompileResult> CompilePool::wait(Milliseconds timeout) {
  // The limit keeps an endless wait from overflowing the clock.
  const auto end = Clock::now() + std::min<Milliseconds>(timeout, std::chrono::hours(24 * 365));
  for (;;) {
    state_->collect(state_->running);
    state_->collect(state_->stopped);
    state_->start_waiting();
    const bool is_done = !state_->answers.empty() || state_->due.empty() || state_->is_idle();
    if (is_done || state_->paused || Clock::now() >= end) break;
    state_->sleep(end);
  }
  std::vector<CompileResult> taken(std::make_move_iterator(state_->answers.begin()),
                                   std::make_move_iterator(state_->answers.end()));
  state_->answers.clear();
  state_->set_timer();
  return taken;
}

std::vector<CompileResult> CompilePool::compile(const std::vector<CompileTask>& tasks) {
  ATTUNE_CHECK(!state_->paused, "a paused pool compiles nothing, resume it first");
  std::map<std::string, std::deque<size_t>> wanted;
  for (size_t i = 0; i < tasks.size(); ++i) {
    wanted[tasks[i].recipe()].push_back(i);
    submit(tasks[i]);
  }
  std::vector<CompileResult> results(tasks.size());
  std::vector<CompileResult> others;  // Answers of tasks submitted earlier, for wait().
  for (size_t left = tasks.size(); left > 0;) {
    for (CompileResult& result : wait(Milliseconds::max())) {
      auto& places = wanted[result.recipe];
      if (places.empty()) {
        others.push_back(std::move(result));
        continue;
      }
      results[places.front()] = std::move(result);
      places.pop_front();
      --left;
    }
  }
  state_->answers.insert(state_->answers.begin(), std::make_move_iterator(others.begin()),
                         std::make_move_iterator(others.end()));
  state_->set_timer();
  return results;
}

int CompilePool::descriptor() const noexcept { return state_->poll_set.descriptor(); }

uint32_t CompilePool::num_jobs() const noexcept { return state_->options.jobs; }

void CompilePool::pause() {
  if (state_->paused) return;
  state_->stop_all();
  state_->share.attend();
  state_->share.release();
  state_->paused = true;
  state_->set_timer();
}

void CompilePool::resume() {
  if (!state_->paused) return;
  state_->paused = false;
  state_->start_waiting();
  state_->set_timer();
}

}  // namespace attune
