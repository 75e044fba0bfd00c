// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>

#include "base/error.h"
#include "cli/command.h"
#include "process/channel/channel.h"
#include "solver/registry.h"
#include "worker/worker_loop.h"
#include "worker/worker_options.h"

namespace attune {
namespace {

int run() {
  if (!is_channel(kWorkerChannel))
    fail(ErrorCode::invalid_input, "`attune worker` is started by tune, bench and check, not by hand");
  return run_worker(registry(HostProcess::worker), build_name());
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
