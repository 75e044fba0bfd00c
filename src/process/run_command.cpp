// SPDX-License-Identifier: MIT
#include "process/run_command.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/file.h"

namespace attune {

CommandResult run_command(ChildCommand command, Milliseconds deadline, uint64_t max_bytes) {
  // A file in memory, not a pipe: no reader is needed while the command runs, and the kernel enforces the size limit.
  const Descriptor memory(::memfd_create("output", MFD_CLOEXEC));
  if (memory.number() < 0)
    fail(ErrorCode::io, "cannot keep the output of a command in memory ({})", std::strerror(errno));
  command.output = fmt::format("/proc/self/fd/{}", memory.number());
  command.limits.file_bytes = max_bytes;
  CommandResult result;
  result.status = Child(command).wait(deadline);
  result.output = read_file(command.output, max_bytes);
  return result;
}

}  // namespace attune
