// SPDX-License-Identifier: MIT
#include "compile/compile_pool.h"

#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <deque>
#include <list>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/machine.h"
#include "base/text.h"
#include "compile/compiler_failure.h"
#include "compile/exported_symbols.h"
#include "process/child.h"
#include "process/temporary_folder.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kMaxFileBytes = uint64_t{256} << 20;
constexpr uint64_t kMaxLogBytes = 1 << 20;
constexpr uint64_t kOpenFiles = 256;
/// The limit on processor time only ends processes that outlive this program; a compiler with threads uses more
/// processor time than wall time.
constexpr int kCpuPerDeadline = 2;

Outcome failed(Status status, std::string detail) {
  Outcome outcome;
  outcome.status = status;
  outcome.detail = std::move(detail);
  return outcome;
}

/// Empty when all entries are defined, or the file's symbols cannot be read.
std::string missing_entries(std::string_view file, const std::vector<std::string>& entries) {
  const auto symbols = exported_symbols(file);
  std::vector<std::string> missing;
  for (const std::string& entry : entries) {
    if (symbols && !symbols->contains(entry)) missing.push_back(entry);
  }
  return join(missing, ", ");
}

/// Empty when the compiler removed its log.
std::string read_log(const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(fs::symlink_status(file, ignored))) return {};
  FileReader reader(file);
  std::string log(kMaxLogBytes, '\0');
  size_t size = 0;
  while (const size_t count = reader.read(std::span(log).subspan(size))) size += count;
  log.resize(size);
  return log;
}

/// A running compiler process.
struct Running {
  CompileTask task;
  std::string recipe, toolchain;
  fs::path folder;
  std::string output;
  Child child;
  Clock::time_point since;  ///< Start, or the last end of a pause.
  Clock::duration before{};
};

}  // namespace

struct CompilePool::State {
  State(KernelCache& the_cache, PoolOptions the_options) : cache(the_cache), options(std::move(the_options)) {
    if (options.jobs == 0) options.jobs = static_cast<uint32_t>(std::max<size_t>(1, allowed_cores().size()));
  }

  KernelCache& cache;
  PoolOptions options;
  TemporaryFolder scratch{"compile"};
  std::deque<CompileTask> submitted;  ///< Not yet examined; one task per recipe.
  std::deque<CompileTask> ready;      ///< Waiting for a free process.
  std::list<Running> running;
  std::map<std::string, size_t> due;           ///< Number of answers due for each recipe in one of the three above.
  std::map<std::string, CompileResult> known;  ///< Failures in this pool.
  std::deque<CompileResult> answers;
  bool paused = false;

  void answer(const CompileResult& compiled) {
    const auto count = due.find(compiled.recipe);
    for (size_t i = 0; i < count->second; ++i) answers.push_back(compiled);
    due.erase(count);
  }
  void answer_failure(const std::string& recipe, Outcome outcome, double seconds = 0) {
    CompileResult compiled{.recipe = recipe, .outcome = std::move(outcome), .binary = {}, .seconds = seconds};
    answer(known[recipe] = std::move(compiled));
  }

  Clock::duration elapsed(const Running& job) const {
    return job.before + (paused ? Clock::duration() : Clock::now() - job.since);
  }

  void poll_submitted();
  void start_ready();
  void start(const CompileTask& task, const std::string& recipe);
  void collect();
  void finish(Running& job, const WaitStatus& status);
  CompileResult judge(Running& job, const WaitStatus& status);
  void keep_files(const Running& job) const;
  void sleep(Clock::time_point end);
};

void CompilePool::State::poll_submitted() {
  while (!submitted.empty()) {
    CompileTask task = std::move(submitted.front());
    submitted.pop_front();
    const std::string recipe = task.recipe();
    if (const auto found = known.find(recipe); found != known.end()) {
      answer(found->second);
      continue;
    }
    // Without its compiler, a cached binary of any toolchain is accepted, like one from another machine.
    std::string toolchain, reason;
    const Compiler* compiler = find_compiler(task.compiler);
    try {
      if (!compiler)
        reason = fmt::format("this build has no such compiler: '{}'", task.compiler);
      else if (!compiler->targets(task.arch))
        reason = fmt::format("the compiler {} does not compile for this architecture: '{}'", task.compiler, task.arch);
      else
        toolchain = compiler->toolchain();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unavailable) {
        due.erase(recipe);
        throw;
      }
      reason = error.what();
    }
    auto binary = cache.find(task.arch, recipe, toolchain);
    if (binary && (binary->toolchain == toolchain || !reason.empty()))
      answer({.recipe = recipe, .outcome = {}, .binary = std::move(binary), .from_cache = true});
    else if (!reason.empty())
      answer_failure(recipe, failed(Status::unsupported, std::move(reason)));
    else
      ready.push_back(std::move(task));
  }
}

void CompilePool::State::start_ready() {
  while (!paused && !ready.empty() && running.size() < options.jobs) {
    const CompileTask task = std::move(ready.front());
    ready.pop_front();
    const std::string recipe = task.recipe();
    try {
      start(task, recipe);
    } catch (const Error& error) {
      // Other errors (a full disk, no more processes) are not the task's fault; they end this call, and the task is
      // dropped.
      if (error.code() != ErrorCode::unavailable && error.code() != ErrorCode::invalid_input) {
        due.erase(recipe);
        throw;
      }
      const bool refused = error.code() == ErrorCode::invalid_input;
      answer_failure(recipe, failed(refused ? Status::compile_failed : Status::unsupported, error.what()));
    }
  }
}

void CompilePool::State::start(const CompileTask& task, const std::string& recipe) {
  const Compiler& compiler = *find_compiler(task.compiler);
  std::string toolchain = compiler.toolchain();
  const fs::path folder = scratch.path() / recipe;
  make_private_folder(folder);
  CompileCommand command = compiler.command(task, folder);
  ChildCommand process{.arguments = std::move(command.arguments),
                       .environment = std::move(command.environment),
                       .folder = folder,
                       .output = folder / "log"};
  process.limits = {.address_space_bytes = options.memory_bytes, .file_bytes = kMaxFileBytes, .open_files = kOpenFiles};
  process.limits.cpu = std::chrono::ceil<std::chrono::seconds>(options.deadline * kCpuPerDeadline);
  running.push_back(
      {task, recipe, std::move(toolchain), folder, std::move(command.output), Child(process), Clock::now()});
}

void CompilePool::State::collect() {
  for (auto job = running.begin(); job != running.end();) {
    auto status = job->child.poll();
    if (!status && !paused && elapsed(*job) >= options.deadline) status = job->child.expire(options.deadline);
    if (!status) {
      ++job;
      continue;
    }
    // The job leaves the list first: if finish() throws, no dead process must remain there.
    std::list<Running> ended;
    ended.splice(ended.end(), running, job++);
    finish(ended.front(), *status);
  }
}

void CompilePool::State::finish(Running& job, const WaitStatus& status) {
  try {
    if (!options.keep.empty()) keep_files(job);
    CompileResult compiled = judge(job, status);
    if (!compiled.outcome.ok()) known[job.recipe] = compiled;
    answer(compiled);
  } catch (...) {
    due.erase(job.recipe);
    throw;
  }
  std::error_code ignored;
  fs::remove_all(job.folder, ignored);
}

CompileResult CompilePool::State::judge(Running& job, const WaitStatus& status) {
  CompileResult compiled;
  compiled.recipe = job.recipe;
  compiled.seconds = std::chrono::duration<double>(elapsed(job)).count();
  compiled.outcome = compiler_failure(status, read_log(job.folder / "log"), job.toolchain);
  if (!compiled.outcome.ok()) return compiled;
  const fs::path file = job.folder / job.output;
  std::error_code ignored;
  if (!fs::is_regular_file(fs::symlink_status(file, ignored))) {
    compiled.outcome =
        failed(Status::compile_failed, fmt::format("{} produced no binary: '{}'", job.toolchain, job.output));
    return compiled;
  }
  const Compiler& compiler = *find_compiler(job.task.compiler);
  try {
    const std::string content = read_file(file, kMaxFileBytes);
    if (const std::string flaw = compiler.flaw_of(content); !flaw.empty()) {
      compiled.outcome = failed(
          Status::compile_failed,
          fmt::format("the output of {} is {}, check that it is a compiler: '{}'", job.toolchain, flaw, job.output));
      return compiled;
    }
    if (const std::string missing = missing_entries(content, job.task.entries); !missing.empty()) {
      compiled.outcome = failed(Status::compile_failed, fmt::format("the binary of {} lacks entries, the source must "
                                                                    "define and export them: {}",
                                                                    job.toolchain, missing));
      return compiled;
    }
  } catch (const Error& error) {
    compiled.outcome = failed(Status::compile_failed, error.what());
    return compiled;
  }
  Binary binary{.arch = job.task.arch, .recipe = job.recipe, .toolchain = job.toolchain, .sha256 = {}, .file = file};
  binary.metadata = {{"compiler", job.task.compiler},
                     {"command", std::to_string(compiler.command_version())},
                     {"options", join(job.task.options, " ")},
                     {"entries", join(job.task.entries, " ")}};
  compiled.binary = cache.add(std::move(binary));
  return compiled;
}

void CompilePool::State::keep_files(const Running& job) const {
  make_private_folder(options.keep);
  const fs::path target = options.keep / job.recipe;
  std::error_code error;
  fs::remove_all(target, error);
  if (!fs::exists(job.folder, error)) return;  // The compiler removed it.
  fs::copy(job.folder, target, fs::copy_options::recursive, error);
  if (error)
    fail(ErrorCode::io, "cannot keep the files of a compilation ({}), choose another folder: '{}'", error.message(),
         target.string());
}

void CompilePool::State::sleep(Clock::time_point end) {
  std::vector<pollfd> entries;
  for (const Running& job : running) {
    entries.push_back({job.child.descriptor(), POLLIN, 0});
    end = std::min(end, job.since + (options.deadline - job.before));
  }
  const auto left = std::chrono::ceil<Milliseconds>(end - Clock::now()).count();
  ::poll(entries.data(), entries.size(), static_cast<int>(std::clamp<int64_t>(left, 0, 60'000)));
}

CompilePool::CompilePool(KernelCache& cache, PoolOptions options)
    : state_(std::make_unique<State>(cache, std::move(options))) {}

CompilePool::~CompilePool() = default;

void CompilePool::submit(const CompileTask& task) {
  if (++state_->due[task.recipe()] == 1) state_->submitted.push_back(task);
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
    state_->poll_submitted();
    state_->collect();
    state_->start_ready();
    if (!state_->answers.empty() || state_->running.empty() || state_->paused || Clock::now() >= end) break;
    state_->sleep(end);
  }
  std::vector<CompileResult> taken(std::make_move_iterator(state_->answers.begin()),
                                   std::make_move_iterator(state_->answers.end()));
  state_->answers.clear();
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
    for (CompileResult& compiled : wait(Milliseconds::max())) {
      auto& places = wanted[compiled.recipe];
      if (places.empty()) {
        others.push_back(std::move(compiled));
        continue;
      }
      results[places.front()] = std::move(compiled);
      places.pop_front();
      --left;
    }
  }
  state_->answers.insert(state_->answers.begin(), std::make_move_iterator(others.begin()),
                         std::make_move_iterator(others.end()));
  return results;
}

void CompilePool::pause() {
  if (state_->paused) return;
  for (Running& job : state_->running) {
    job.child.stop();
    job.before += Clock::now() - job.since;
  }
  state_->paused = true;
}

void CompilePool::resume() {
  if (!state_->paused) return;
  state_->paused = false;
  for (Running& job : state_->running) {
    job.since = Clock::now();
    job.child.resume();
  }
}

}  // namespace attune
