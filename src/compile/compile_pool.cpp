// SPDX-License-Identifier: MIT
#include "compile/compile_pool.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <list>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/machine.h"
#include "compile/command_compilation.h"
#include "process/poll_set.h"
#include "process/temporary_folder.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using Clock = Compilation::Clock;

constexpr Milliseconds kLongestPoll{60'000};

/// A task that waits for a free process.
struct QueuedTask {
  CompileTask task;
  std::string recipe;
};

}  // namespace

struct CompilePool::State {
  State(KernelCache& the_cache, PoolOptions the_options) : cache(the_cache), options(std::move(the_options)) {
    if (options.jobs == 0) options.jobs = static_cast<uint32_t>(std::max<size_t>(1, allowed_cores().size()));
  }

  KernelCache& cache;
  PoolOptions options;
  TemporaryFolder scratch{"compile"};
  std::deque<QueuedTask> submitted, prefetched;  ///< In both: not in the cache, and the compiler is there.
  PollSet poll_set;
  CompileHelpers helpers{std::move(options.helper), poll_set};
  std::list<std::unique_ptr<Compilation>> running;
  std::map<std::string, size_t> due;              ///< Number of answers due for each recipe that was submitted.
  std::map<std::string, CompileResult> failures;  ///< In this pool.
  std::map<std::string, double> build_seconds;    ///< By recipe, for binaries that this pool made or found.
  std::deque<CompileResult> answers;
  bool paused = false;

  const Compiler* find(std::string_view name) const {
    if (options.compilers.empty()) return find_compiler(name);
    const auto found = std::find_if(options.compilers.begin(), options.compilers.end(),
                                    [&](const Compiler* one) { return one->name() == name; });
    return found == options.compilers.end() ? nullptr : *found;
  }
  bool is_running(const std::string& recipe) const {
    return std::any_of(running.begin(), running.end(), [&](const auto& one) { return one->recipe() == recipe; });
  }
  auto find_prefetched(const std::string& recipe) {
    return std::find_if(prefetched.begin(), prefetched.end(),
                        [&](const QueuedTask& one) { return one.recipe == recipe; });
  }

  std::optional<CompileResult> known(const CompileTask& task, const std::string& recipe);
  double seconds_of(const std::string& recipe) const {
    const auto found = build_seconds.find(recipe);
    return found == build_seconds.end() ? 0 : found->second;
  }
  CompileResult remember(CompileResult result);
  void answer(const CompileResult& result);
  void submit(const CompileTask& task, const std::string& recipe);
  void start_waiting();
  void start(QueuedTask next);
  void collect();
  std::unique_ptr<Compilation> begun(CompileTask task);
  void finish(Compilation& ended);
  void keep_files(const Compilation& ended) const;
  Clock::time_point next_deadline() const;
  void set_timer() noexcept;
  void sleep(Clock::time_point end);
};

/// The answer that takes no compiler: a failure in this pool, a cached binary, or that there is no compiler.
std::optional<CompileResult> CompilePool::State::known(const CompileTask& task, const std::string& recipe) {
  if (const auto found = failures.find(recipe); found != failures.end()) return found->second;
  // Without its compiler, a cached binary of any toolchain is accepted, like one from another machine.
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
  auto binary = cache.find(task.arch, recipe, toolchain);
  if (binary && (binary->toolchain == toolchain || !reason.empty()))
    return remember({.recipe = recipe,
                     .outcome = {},
                     .binary = std::move(binary),
                     .from_cache = true,
                     .seconds = seconds_of(recipe)});
  if (reason.empty()) return std::nullopt;
  return remember(
      {.recipe = recipe, .outcome = {.status = Status::unsupported, .detail = std::move(reason)}, .binary = {}});
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
  if (++due[recipe] > 1 || is_running(recipe)) return;
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

void CompilePool::State::start_waiting() {
  while (!paused && running.size() < options.jobs) {
    auto& queue = submitted.empty() ? prefetched : submitted;
    if (queue.empty()) return;
    QueuedTask next = std::move(queue.front());
    queue.pop_front();
    start(std::move(next));
  }
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
    // Other errors (a full disk, no more processes) are not the task's fault; they end this call, and the task is
    // dropped.
    if (error.code() != ErrorCode::unavailable && error.code() != ErrorCode::invalid_input) {
      due.erase(next.recipe);
      throw;
    }
    const Status status = error.code() == ErrorCode::invalid_input ? Status::compile_failed : Status::unsupported;
    answer(remember({.recipe = next.recipe, .outcome = {.status = status, .detail = error.what()}, .binary = {}}));
  }
}

void CompilePool::State::collect() {
  for (auto job = running.begin(); job != running.end();) {
    if (!(*job)->has_ended()) {
      ++job;
      continue;
    }
    // The job leaves the list first: if finish() throws, no dead process must remain there.
    const std::unique_ptr<Compilation> ended = std::move(*job);
    job = running.erase(job);
    finish(*ended);
  }
}

void CompilePool::State::finish(Compilation& ended) {
  try {
    CompileResult result = ended.result();
    if (!options.keep.empty()) keep_files(ended);
    if (result.binary) result.binary = cache.add(*std::move(result.binary));
    answer(remember(std::move(result)));
  } catch (...) {
    due.erase(ended.recipe());
    throw;
  }
  std::error_code ignored;
  fs::remove_all(ended.folder(), ignored);
}

void CompilePool::State::keep_files(const Compilation& ended) const {
  make_private_folder(options.keep);
  const fs::path target = options.keep / ended.recipe();
  std::error_code error;
  fs::remove_all(target, error);
  if (!fs::exists(ended.folder(), error)) return;  // The compiler removed it.
  fs::copy(ended.folder(), target, fs::copy_options::recursive, error);
  if (error)
    fail(ErrorCode::io, "cannot keep the files of a compilation ({}), choose another folder: '{}'", error.message(),
         target.string());
}

Clock::time_point CompilePool::State::next_deadline() const {
  Clock::time_point next = Clock::time_point::max();
  for (const auto& job : running) next = std::min(next, job->end());
  return next;
}

/// Makes the poll set readable when wait(0) has something to do; ended processes do that by themselves.
void CompilePool::State::set_timer() noexcept {
  const Clock::time_point next = next_deadline();
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
  const bool is_in_progress = state_->due.contains(recipe) || state_->is_running(recipe) ||
                              state_->find_prefetched(recipe) != state_->prefetched.end();
  if (is_in_progress || ready(recipe) || state_->known(task, recipe)) return;
  state_->prefetched.push_back({task, recipe});
  state_->start_waiting();
  state_->set_timer();
}

std::optional<CompileResult> CompilePool::known(const CompileTask& task) { return state_->known(task, task.recipe()); }

bool CompilePool::ready(const std::string& recipe) const {
  return state_->build_seconds.contains(recipe) || state_->failures.contains(recipe);
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
    state_->collect();
    state_->start_waiting();
    const bool is_done = !state_->answers.empty() || state_->due.empty() || state_->running.empty();
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
  for (const auto& job : state_->running) job->stop();
  state_->paused = true;
  state_->set_timer();
}

void CompilePool::resume() {
  if (!state_->paused) return;
  state_->paused = false;
  for (const auto& job : state_->running) job->resume();
  state_->start_waiting();
  state_->set_timer();
}

}  // namespace attune
