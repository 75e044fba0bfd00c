// SPDX-License-Identifier: MIT
#include "compile/command_compilation.h"

#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "compile/compiler_failure.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxLogBytes = 1 << 20;
/// The limit on processor time only ends processes that outlive this program. It exceeds the deadline, because a
/// compiler with threads uses more processor time than wall time.
constexpr int kCpuPerDeadline = 2;

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

ChildCommand child_command(const CompileCommand& command, const fs::path& folder, const CompilerLimits& limits) {
  ChildCommand process{
      .arguments = command.arguments, .environment = command.environment, .folder = folder, .output = folder / "log"};
  process.limits = process_limits(limits);
  process.limits.cpu = std::chrono::ceil<std::chrono::seconds>(limits.deadline * kCpuPerDeadline);
  return process;
}

}  // namespace

CommandCompilation::CommandCompilation(CompileTask the_task, const Compiler& compiler, fs::path the_folder,
                                       Milliseconds deadline, PollSet& poll_set)
    : Compilation(std::move(the_task), compiler, std::move(the_folder), deadline),
      command_(compiler.command(task(), folder())),
      child_(child_command(command_, folder(), limits())) {
  poll_set.watch(child_.descriptor());
}

bool CommandCompilation::has_ended() {
  if (!status_) status_ = child_.poll();
  if (!status_ && is_late()) status_ = child_.expire(limits().deadline);
  return status_.has_value();
}

CompileResult CommandCompilation::result() {
  const std::string log = read_log(folder() / "log");
  if (Outcome outcome = compiler_failure(status_.value(), log, toolchain()); !outcome.ok()) {
    CompileResult failed = ended_with(std::move(outcome));
    failed.is_rejected = is_rejection(status_.value(), log);
    return failed;
  }
  const fs::path file = folder() / command_.output;
  std::error_code ignored;
  if (!fs::is_regular_file(fs::symlink_status(file, ignored))) {
    return ended_with({.status = Status::compile_failed,
                       .detail = fmt::format("{} produced no binary: '{}'", toolchain(), command_.output)});
  }
  std::string content;
  try {
    content = read_file(file, kMaxBinaryBytes);
  } catch (const Error& error) {
    return ended_with({.status = Status::compile_failed, .detail = error.what()});
  }
  return examined(file, content, log);
}

}  // namespace attune
