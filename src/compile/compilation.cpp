// SPDX-License-Identifier: MIT
#include "compile/compilation.h"

#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "compile/elf_file.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kOpenFiles = 256;

/// Empty when all entries are defined, or the file's symbols cannot be read.
std::string missing_entries(std::string_view file, const std::vector<std::string>& entries) {
  const auto symbols = exported_symbols(file);
  std::vector<std::string> missing;
  for (const std::string& entry : entries) {
    if (symbols && !symbols->contains(entry)) missing.push_back(entry);
  }
  return join(missing, ", ");
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

ProcessLimits process_limits(const CompilerLimits& limits) {
  return {.address_space_bytes = limits.memory_bytes, .file_bytes = kMaxBinaryBytes, .open_files = kOpenFiles};
}

Compilation::Compilation(CompileTask task, const Compiler& compiler, fs::path folder, Milliseconds deadline)
    : task_(std::move(task)),
      recipe_(task_.recipe()),
      compiler_(compiler),
      toolchain_(compiler.toolchain()),
      folder_(made(std::move(folder))),
      limits_(limits_of(compiler, deadline)) {}

Compilation::Clock::duration Compilation::elapsed() const noexcept {
  return before_ + (is_stopped_ ? Clock::duration() : Clock::now() - since_);
}

Compilation::Clock::time_point Compilation::end() const noexcept {
  return is_stopped_ ? Clock::time_point::max() : since_ + (limits_.deadline - before_);
}

void Compilation::stop() {
  stop_process();
  before_ += Clock::now() - since_;
  is_stopped_ = true;
}

void Compilation::resume() {
  since_ = Clock::now();
  is_stopped_ = false;
  resume_process();
}

CompileResult Compilation::ended_with(Outcome outcome) const {
  return {.recipe = recipe_,
          .outcome = std::move(outcome),
          .binary = {},
          .seconds = std::chrono::duration<double>(elapsed()).count()};
}

CompileResult Compilation::examined(const fs::path& file, const std::string& content, const std::string& log) const {
  const auto refused = [&](std::string detail) {
    return ended_with({.status = Status::compile_failed, .detail = std::move(detail)});
  };
  try {
    if (const std::string flaw = compiler_.flaw_of(content); !flaw.empty()) {
      return refused(fmt::format("the output of {} is {}, check that it is a compiler: '{}'", toolchain_, flaw,
                                 file.filename().string()));
    }
    if (const std::string missing = missing_entries(content, task_.entries); !missing.empty()) {
      return refused(fmt::format("the binary of {} lacks entries, the source must define and export them: {}",
                                 toolchain_, missing));
    }
    CompileResult compiled = ended_with({});
    compiled.binary = binary_of(content, file, log);
    return compiled;
  } catch (const Error& error) {
    return refused(error.what());
  }
}

Binary Compilation::description() const {
  Binary binary{.arch = task_.arch, .recipe = recipe_, .toolchain = toolchain_, .sha256 = {}, .file = {}};
  binary.metadata = {{"compiler", task_.compiler},
                     {"command", std::to_string(compiler_.command_version())},
                     {"options", join(task_.options, " ")},
                     {"entries", join(task_.entries, " ")}};
  if (!task_.candidate.empty()) binary.metadata["candidate"] = task_.candidate;
  return binary;
}

Binary Compilation::binary_of(const std::string& content, const fs::path& file, const std::string& log) const {
  Binary binary = description();
  binary.file = file;
  binary.metadata.merge(compiler_.report({log, content, folder_}));
  return binary;
}

}  // namespace attune
