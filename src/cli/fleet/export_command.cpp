// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/flags/arguments.h"
#include "cli/flags/value_checks.h"
#include "cli/fleet/run_export.h"

namespace attune {
namespace {

void add_export_flags(CLI::App& command, Action& chosen) {
  auto flags = std::make_shared<ExportFlags>();
  SessionExportOptions& options = flags->options;
  command.add_option("--session", options.session, "Session whose results to write")->check(positive_number_error);
  command.add_option("--golden_v,--golden-v", options.golden_version, "Instead: golden set whose results to write")
      ->check(positive_number_error);
  command.add_option("--device", options.device, "Device of the golden set, if it has several");
  command.add_flag("-f,--find-db", options.find_db, "Write the find-db: the best four solvers of each configuration");
  command.add_flag("-p,--perf-db", options.perf_db, "Write the perf-db, as SQLite (.db) and as text (.db.txt)");
  command.add_flag("-k,--kernel-db", options.kernel_db, "Write the kernel-db: the compiled kernels");
  command.add_flag("-c,--table", options.table, "Write the winners as rows of conv_tuned.csv");
  command.add_option("-t,--tag", options.tag, "Only configurations of this tag");
  command.add_option("-o,--output", options.folder, "Folder of the files; default: the working folder");
  command.add_flag("--foreign-solvers", options.foreign_solvers,
                   "Name Attune's own solvers in the files of an AMD device, whose keys MIOpen then drops");
  add_json_flag(command, flags->json);
  command.footer(
      "A file that is there is replaced; the changes are listed: slower, missing, changed, faster, added.\n"
      "Exit status 1 if the files lack a configuration; each is listed with its reason.\n"
      "Examples:\n"
      "  attune export --session 1 -f -p -k -o files\n"
      "  attune export --session 1 -t resnet50 -c");
  command.callback([flags, &chosen] { chosen = [flags] { return run_export(*flags); }; });
}

}  // namespace

Command export_command() {
  return {CommandGroup::tables, "export", "Write a session's results as the files of MIOpen, or as a table",
          add_export_flags};
}

}  // namespace attune
