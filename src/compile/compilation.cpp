// SPDX-License-Identifier: MIT
#include "compile/compilation.h"

#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "compile/compiler_failure.h"
#include "compile/elf_file.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxFileBytes = uint64_t{256} << 20;
constexpr uint64_t kMaxLogBytes = 1 << 20;
constexpr uint64_t kOpenFiles = 256;
/// The limit on processor time only ends processes that outlive this program; a compiler with threads uses more
/// processor time than wall time.
constexpr int kCpuPerDeadline = 2;

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

ChildCommand child_command(const CompileCommand& command, const fs::path& folder, const CompilerLimits& limits) {
  ChildCommand process{
      .arguments = command.arguments, .environment = command.environment, .folder = folder, .output = folder / "log"};
  process.limits = {.address_space_bytes = limits.memory_bytes, .file_bytes = kMaxFileBytes, .open_files = kOpenFiles};
  process.limits.cpu = std::chrono::ceil<std::chrono::seconds>(limits.deadline * kCpuPerDeadline);
  return process;
}

CompilerLimits limits_of(const Compiler& compiler, Milliseconds deadline) {
  CompilerLimits limits = compiler.limits();
  if (deadline.count() > 0) limits.deadline = deadline;
  return limits;
}

fs::path made(fs::path folder) {
  make_private_folder(folder);
  return folder;
}

}  // namespace

Compilation::Compilation(CompileTask task, const Compiler& compiler, fs::path folder, Milliseconds deadline)
    : task_(std::move(task)),
      recipe_(task_.recipe()),
      compiler_(compiler),
      toolchain_(compiler.toolchain()),
      folder_(made(std::move(folder))),
      limits_(limits_of(compiler, deadline)),
      command_(compiler.command(task_, folder_)),
      child_(child_command(command_, folder_, limits_)) {}

Compilation::Clock::duration Compilation::elapsed() const noexcept {
  return before_ + (is_stopped_ ? Clock::duration() : Clock::now() - since_);
}

Compilation::Clock::time_point Compilation::end() const noexcept {
  return is_stopped_ ? Clock::time_point::max() : since_ + (limits_.deadline - before_);
}

std::optional<WaitStatus> Compilation::poll() {
  auto status = child_.poll();
  if (!status && !is_stopped_ && elapsed() >= limits_.deadline) status = child_.expire(limits_.deadline);
  return status;
}

void Compilation::stop() {
  child_.stop();
  before_ += Clock::now() - since_;
  is_stopped_ = true;
}

void Compilation::resume() {
  since_ = Clock::now();
  is_stopped_ = false;
  child_.resume();
}

CompileResult Compilation::result(const WaitStatus& status) const {
  CompileResult compiled;
  compiled.recipe = recipe_;
  compiled.seconds = std::chrono::duration<double>(elapsed()).count();
  const std::string log = read_log(folder_ / "log");
  compiled.outcome = compiler_failure(status, log, toolchain_);
  if (!compiled.outcome.ok()) return compiled;
  const auto refuse = [&](std::string detail) {
    compiled.outcome = {.status = Status::compile_failed, .detail = std::move(detail)};
    return compiled;
  };
  const fs::path file = folder_ / command_.output;
  std::error_code ignored;
  if (!fs::is_regular_file(fs::symlink_status(file, ignored)))
    return refuse(fmt::format("{} produced no binary: '{}'", toolchain_, command_.output));
  try {
    const std::string content = read_file(file, kMaxFileBytes);
    if (const std::string flaw = compiler_.flaw_of(content); !flaw.empty()) {
      return refuse(
          fmt::format("the output of {} is {}, check that it is a compiler: '{}'", toolchain_, flaw, command_.output));
    }
    if (const std::string missing = missing_entries(content, task_.entries); !missing.empty()) {
      return refuse(fmt::format("the binary of {} lacks entries, the source must define and export them: {}",
                                toolchain_, missing));
    }
    compiled.binary = binary_of(content, file, log);
  } catch (const Error& error) {
    return refuse(error.what());
  }
  return compiled;
}

Binary Compilation::binary_of(const std::string& content, const fs::path& file, const std::string& log) const {
  Binary binary{.arch = task_.arch, .recipe = recipe_, .toolchain = toolchain_, .sha256 = {}, .file = file};
  binary.metadata = {{"compiler", task_.compiler},
                     {"command", std::to_string(compiler_.command_version())},
                     {"options", join(task_.options, " ")},
                     {"entries", join(task_.entries, " ")}};
  if (!task_.candidate.empty()) binary.metadata["candidate"] = task_.candidate;
  binary.metadata.merge(compiler_.report({log, content, folder_}));
  return binary;
}

}  // namespace attune
