// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/commands.h"
#include "cli/fleet/tuna_spelling.h"

namespace attune {
namespace {

void add_tuna_flags(CLI::App& command, Action& chosen) {
  command.prefix_command();
  command.footer(
      "Commands:\n"
      "  import_configs -t TAG -f FILE [-b BATCHES] [-c COMMAND] [-T] [--mark_recurrent]\n"
      "  go_fish --local_machine --update_solvers | --init_session -l REASON | --update_applicability --session_id N\n"
      "  go_fish --local_machine --session_id N --fin_steps STEPS | --list_solvers | --status\n"
      "  load_job --session_id N -t TAG|--all_configs --fin_steps STEPS [-o] -l REASON [-s SOLVERS]\n"
      "  export_db --session_id N|--golden_v N -p|-f|-k [-o FOLDER]\n"
      "  update_golden --golden_v N --session_id N [--base_golden_v N] [--overwrite]\n"
      "The later `go_fish miopen import_configs …` is read, too. docs/mituna.md shows the same in this program's "
      "words.");
  command.callback([&command, &chosen] {
    chosen = [arguments = command.remaining()] { return run_command(arguments_of_tuna(arguments)); };
  });
}

}  // namespace

Command tuna_command() {
  return {CommandGroup::tune, "tuna", "Run a command of MITuna, in its own spelling", add_tuna_flags};
}

}  // namespace attune
