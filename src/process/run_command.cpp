// SPDX-License-Identifier: MIT
#include "process/run_command.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/file.h"

namespace attune {

namespace {

/// A file in memory, not a pipe: no reader is needed while the command runs, and the kernel enforces the size limit.
Descriptor memory_file() {
  Descriptor memory(::memfd_create("output", MFD_CLOEXEC));
  if (memory.number() < 0)
    fail(ErrorCode::io, "cannot keep the output of a command in memory ({})", std::strerror(errno));
  return memory;
}

std::filesystem::path path_of(const Descriptor& memory) { return fmt::format("/proc/self/fd/{}", memory.number()); }

}  // namespace

CommandResult run_command(ChildCommand command, Milliseconds deadline, uint64_t max_bytes, OutputStreams streams) {
  const bool is_apart = streams == OutputStreams::apart;
  const Descriptor output = memory_file(), errors = is_apart ? memory_file() : Descriptor();
  command.output = path_of(output);
  command.errors = is_apart ? path_of(errors) : std::filesystem::path();
  command.limits.file_bytes = max_bytes;
  CommandResult result;
  result.status = Child(command).wait(deadline);
  result.output = read_file(command.output, max_bytes);
  if (is_apart) result.errors = read_file(command.errors, max_bytes);
  return result;
}

}  // namespace attune
