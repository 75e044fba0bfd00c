// SPDX-License-Identifier: MIT
#include "pipeline/run/output_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "base/blocked_write_signals.h"
#include "base/error.h"
#include "base/file.h"
#include "base/line_output.h"
#include "base/text.h"

namespace attune {
namespace {

/// Above the standard ones, and closed in children.
Descriptor copy_of(int number) { return Descriptor(::fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)); }

}  // namespace

OutputLog::OutputLog(const std::filesystem::path& file)
    : output_(copy_of(STDOUT_FILENO)), error_(copy_of(STDERR_FILENO)) {
  check_not_planted(file);
  const Descriptor log(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (log.number() < 0 || output_.number() < 0 || error_.number() < 0)
    fail(ErrorCode::io, "cannot write the log of the run ({}): '{}'", std::strerror(errno), shown(file.string(), 500));
  std::fflush(nullptr);
  ::dup2(log.number(), STDOUT_FILENO);
  ::dup2(log.number(), STDERR_FILENO);
}

OutputLog::~OutputLog() {
  std::fflush(nullptr);
  ::dup2(output_.number(), STDOUT_FILENO);
  ::dup2(error_.number(), STDERR_FILENO);
}

void OutputLog::say(std::string_view line) const {
  std::fflush(stdout);
  print_line(stderr, line);
  repeat(line);
}

void OutputLog::repeat(std::string_view line) const {
  const std::string text = shown(line, 2000) + "\n";
  // A reader that went away does not end the run.
  const BlockedWriteSignals blocked;
  [[maybe_unused]] const ssize_t written = ::write(error_.number(), text.data(), text.size());
}

}  // namespace attune
