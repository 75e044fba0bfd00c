// SPDX-License-Identifier: MIT
#include <sys/socket.h>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "cli/command.h"
#include "solver/registry.h"
#include "worker/worker_loop.h"
#include "worker/worker_options.h"

namespace attune {
namespace {

int run() {
  int type = 0;
  socklen_t bytes = sizeof type;
  if (::getsockopt(kWorkerChannel, SOL_SOCKET, SO_TYPE, &type, &bytes) != 0)
    fail(ErrorCode::invalid_input, "`attune worker` is started by tune, bench and check, not by hand");
  return run_worker(registry(), build_name());
}

void add_worker_flags(CLI::App& command, Action& chosen) {
  command.callback([&chosen] { chosen = run; });
}

}  // namespace

Command worker_command() {
  return {CommandGroup::hidden, "worker", "The process in which candidates run; started by tune, bench and check",
          add_worker_flags};
}

}  // namespace attune
