// SPDX-License-Identifier: MIT
#include "compile/compile_helper.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "compile/compile_messages.h"
#include "compile/compiler_failure.h"
#include "process/process_stat.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOutput = "output";

ChildCommand helper_command(const LibraryCompiler& compiler, const HelperProgram& program, const CompilerLimits& limits,
                            const fs::path& folder, int channel) {
  ChildCommand command{.arguments = program.arguments,
                       .environment = program.environment,
                       .folder = folder,
                       .output = folder / kOutput,
                       .inherited = {channel}};
  command.arguments.emplace_back(compiler.name());
  command.environment["TMPDIR"] = folder.string();
  command.limits = process_limits(limits);
#ifdef ATTUNE_SANITIZED  // a sanitizer maps terabytes of shadow memory
  command.limits.address_space_bytes = 0;
#endif
  return command;
}

uint64_t resident_bytes(pid_t pid) {
  const auto fields = process_stat(pid);
  return fields.empty() ? 0 : static_cast<uint64_t>(fields[kResidentPages] * ::sysconf(_SC_PAGESIZE));
}

}  // namespace

CompileHelper::CompileHelper(const LibraryCompiler& compiler, const HelperProgram& program,
                             const CompilerLimits& limits, PollSet& poll_set)
    : CompileHelper(compiler, program, limits, poll_set, ChannelPair()) {}

CompileHelper::CompileHelper(const LibraryCompiler& compiler, const HelperProgram& program,
                             const CompilerLimits& limits, PollSet& poll_set, ChannelPair channel)
    : compiler_(compiler),
      poll_set_(poll_set),
      max_tasks_(program.max_tasks),
      memory_bytes_(limits.memory_bytes),
      channel_(std::move(channel.ours)),
      child_(helper_command(compiler, program, limits, folder_.path(), channel.theirs.number())) {}

bool CompileHelper::begin(const CompileTask& task) {
  ++number_;
  const bool is_alive = !child_.poll() && channel_.read();
  const bool is_accepted = is_alive && !channel_.has_rest();
  if (is_accepted) {
    channel_.send({number_, to_payload(task)});
    channel_.write();
  } else if (is_alive) {
    child_.reject();
  }
  watch();  // Also after a refusal: take() then returns its end.
  return is_accepted;
}

std::optional<CompileHelper::Event> CompileHelper::take() {
  auto event = look();
  if (event)
    forget();
  else
    watch();
  return event;
}

/// Accepts an answer that was sent before the helper ended.
std::optional<CompileHelper::Event> CompileHelper::look() {
  constexpr Milliseconds kGrace{20};
  if (channel_.is_sending()) channel_.write();
  const auto ended = child_.poll();
  const bool is_open = channel_.read();
  try {
    if (const auto frame = channel_.next()) {
      const bool is_another_tasks = frame->number != number_;
      if (is_another_tasks || channel_.has_rest()) return child_.reject();
      return library_output_from(frame->payload);
    }
  } catch (const Error&) {
    return child_.reject();
  }
  if (ended) return *ended;
  if (is_open) return std::nullopt;
  // The helper's exit status explains more than its closed channel.
  const WaitStatus status = child_.wait(kGrace);
  return status.end == WaitStatus::End::deadline ? Event(child_.reject()) : Event(status);
}

/// Watches for the helper's end, its answer, and space for unsent data.
void CompileHelper::watch() {
  poll_set_.watch(channel_.descriptor(), channel_.is_sending());
  poll_set_.watch(child_.descriptor());
}

void CompileHelper::forget() noexcept {
  poll_set_.forget(channel_.descriptor());
  poll_set_.forget(child_.descriptor());
}

bool CompileHelper::is_spent() const {
  const bool has_grown = memory_bytes_ > 0 && resident_bytes(child_.pid()) > memory_bytes_ / 2;
  return has_grown || number_ >= max_tasks_;
}

std::string CompileHelper::last_output() const {
  constexpr size_t kMaxBytes = 200;
  return shown(trim(read_file_end(folder_.path() / kOutput, kMaxBytes)), kMaxBytes);
}

std::unique_ptr<CompileHelper> CompileHelpers::begin(const LibraryCompiler& compiler, const CompileTask& task,
                                                     const CompilerLimits& limits) {
  if (program_.arguments.empty())
    fail(ErrorCode::unavailable, "the attune program, whose helpers compile, was not found, set ATTUNE_PROGRAM: {}",
         compiler.name());
  const auto is_ours = [&](const auto& one) { return &one->compiler() == &compiler; };
  for (auto found = std::find_if(idle_.begin(), idle_.end(), is_ours); found != idle_.end();
       found = std::find_if(idle_.begin(), idle_.end(), is_ours)) {
    auto helper = std::move(*found);
    idle_.erase(found);
    if (helper->begin(task)) return helper;
  }
  auto fresh = std::make_unique<CompileHelper>(compiler, program_, limits, poll_set_);
  fresh->begin(task);  // A refusal shows in take().
  return fresh;
}

void CompileHelpers::give_back(std::unique_ptr<CompileHelper> helper) {
  if (!helper->is_spent()) idle_.push_back(std::move(helper));
}

HelperCompilation::HelperCompilation(CompileTask the_task, const LibraryCompiler& compiler, fs::path the_folder,
                                     Milliseconds deadline, CompileHelpers& helpers)
    : Compilation(std::move(the_task), compiler, std::move(the_folder), deadline), helpers_(helpers) {
  write_task_file(folder() / "source", task().source);
  helper_ = helpers_.begin(compiler, task(), limits());
}

HelperCompilation::~HelperCompilation() {
  if (event_ && std::holds_alternative<LibraryOutput>(*event_)) helpers_.give_back(std::move(helper_));
}

bool HelperCompilation::has_ended() {
  if (!event_) event_ = helper_->take();
  if (!event_ && is_late()) event_ = helper_->expire(limits().deadline);
  return event_.has_value();
}

CompileResult HelperCompilation::result() {
  if (const auto* status = std::get_if<WaitStatus>(&event_.value())) {
    Outcome outcome = outcome_of_death(*status, "the helper of " + toolchain());
    outcome.status = Status::compile_failed;
    if (const std::string words = helper_->last_output(); !words.empty()) outcome.detail += "; last output: " + words;
    return ended_with(std::move(outcome));
  }
  const LibraryOutput& output = std::get<LibraryOutput>(*event_);
  write_task_file(folder() / "log", output.log);
  if (output.is_compiled && output.toolchain != toolchain())
    return ended_with({.status = Status::unsupported,
                       .detail = fmt::format("this process has another version of the compiler's library than its "
                                             "helper, start it without one of its own: {}, the helper has {}",
                                             toolchain(), shown(output.toolchain))});
  if (!output.is_compiled) {
    const WaitStatus refused{.end = WaitStatus::End::exited, .code = 1};
    CompileResult failed = ended_with(compiler_failure(refused, output.log, toolchain()));
    failed.is_rejected = output.is_rejected && !blames_machine(output.log);
    return failed;
  }
  const fs::path file = folder() / "binary";
  write_task_file(file, output.binary);
  return examined(file, output.binary, output.log);
}

}  // namespace attune
