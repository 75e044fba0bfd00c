// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/line_output.h"
#include "cli/command.h"
#include "cli/flags/arguments.h"
#include "report/json_output.h"
#include "tables/miopen/miopen_file.h"

namespace attune {
namespace {

struct ConvertFlags {
  std::string input, output;
  ConvertOptions options;
  bool json = false;
};

int run_convert(const ConvertFlags& flags) {
  const Converted converted = convert_miopen_file(flags.input, flags.output, flags.options);
  if (flags.json) {
    print_json({{"file", flags.output}, {"content", converted.summary}, {"notices", converted.notices}});
    return 0;
  }
  for (const std::string& notice : converted.notices) print_line(stderr, "note: " + notice);
  print_line(stdout, fmt::format("{}: {}", flags.output, converted.summary));
  return 0;
}

void add_convert_flags(CLI::App& command, Action& chosen) {
  auto flags = std::make_shared<ConvertFlags>();
  command.add_option("input", flags->input, "A find-db, perf-db or kernel-db of MIOpen")->required();
  command
      .add_option("-o,--output", flags->output,
                  "File to write; its name says the form: find-db .txt (v2) or .csv (its shapes), perf-db .db or .txt, "
                  "kernel-db .kdb")
      ->required();
  command.add_flag("--sort", flags->options.sort, "Keys in byte order; solvers of a find-db by time and name");
  command.add_option("--best", flags->options.best, "Solvers that each key of a find-db keeps; implies --sort")
      ->check(CLI::Range(int64_t{1}, int64_t{1000}));
  command.add_flag("--keep-unusable", flags->options.keep_unusable,
                   "Keep entries of a find-db whose time is not positive");
  add_json_flag(command, flags->json);
  command.footer(
      "Examples:\n"
      "  attune convert gfx1030_36.HIP.fdb.txt -o new.fdb.txt --sort\n"
      "  attune convert gfx942130.HIP.fdb.txt -o conv_untuned.csv\n"
      "  attune convert gfx942130.db -o gfx942130.db.txt");
  command.callback([flags, &chosen] { chosen = [flags] { return run_convert(*flags); }; });
}

}  // namespace

Command convert_command() {
  return {CommandGroup::tables, "convert", "Write a file that MIOpen reads in another form, or its shapes",
          add_convert_flags};
}

}  // namespace attune
