// SPDX-License-Identifier: MIT
#include "process/run_command.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/file.h"

namespace attune {

CommandResult run_command(ChildCommand command, Milliseconds deadline, uint64_t max_bytes) {
  // A file in memory, not a pipe: no reader is needed while the command runs, and the kernel enforces the size limit.
  const int memory = ::memfd_create("output", MFD_CLOEXEC);
  if (memory < 0) fail(ErrorCode::io, "cannot keep the output of a command in memory ({})", std::strerror(errno));
  struct ClosedDescriptor {
    int descriptor;
    ~ClosedDescriptor() { ::close(descriptor); }
  } const closed{memory};
  command.output = fmt::format("/proc/self/fd/{}", memory);
  command.limits.file_bytes = max_bytes;
  CommandResult result;
  result.status = Child(command).wait(deadline);
  result.output = read_file(command.output, max_bytes);
  return result;
}

}  // namespace attune
