// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <string_view>

#include "attune/version.h"
#include "base/error.h"
#include "base/line_output.h"
#include "campaign/interrupt.h"
#include "cli/commands.h"
#include "cli/flags/argument_error.h"
#include "cli/flags/arguments.h"
#include "cli/flags/device_flags.h"
#include "cli/flags/help_formatter.h"
#include "report/json_output.h"

namespace {

/// The commands, or where the help of the chosen one is: of `attune ci compare`, not of `attune ci`.
std::string where_help_is(const CLI::App& app) {
  std::string command;
  for (auto chosen = app.get_subcommands(); !chosen.empty(); chosen = chosen.front()->get_subcommands())
    command += " " + chosen.front()->get_name();
  return command.empty() ? attune::names_of_commands(app) : fmt::format("see attune{} --help", command);
}

int run(int argc, char** argv) {
  using namespace attune;
  CLI::App app("Attune finds the fastest correct kernel for every operator shape on the hardware at hand.", "attune");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version", std::string("attune ") + kVersion);
  app.require_subcommand(0, 1);
  app.set_help_all_flag("--help-all", "Help of every command");
  app.footer("`attune paths` shows where tables, journal and kernels are kept. docs/cli.md describes every flag.");
  Action chosen;
  add_commands(app, chosen);
  apply_common_rules(app);
  check_thread_variable();
  auto arguments = rewrite_arguments({argv + 1, argv + argc});
  if (std::find(arguments.begin(), arguments.end(), "--help-all") == arguments.end()) hide_refused_flags(app);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 reads them from the back.
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help or --version.
    fail(ErrorCode::invalid_input, "{}; {}", argument_error(app, error), where_help_is(app));
  }
  if (!chosen) fail(ErrorCode::invalid_input, "no command was given; {}", names_of_commands(app));
  return chosen();
}

/// Checks for write errors, which a full disk or a closed pipe may only show at the end.
void check_standard_output() {
  std::cout.flush();  // CLI11 writes its help there.
  const bool failed = std::fflush(stdout) != 0 || std::ferror(stdout) || !std::cout;
  pollfd reader{STDOUT_FILENO, POLLOUT, 0};
  // A reader such as `head` that ended early wants no more.
  if (failed && ::poll(&reader, 1, 0) == 1 && (reader.revents & POLLERR) != 0) return;
  if (failed) attune::fail(attune::ErrorCode::io, "cannot write to standard output, the output is incomplete");
}

/// Prints one sentence, and with `wants_json` the same as JSON. Returns the exit status.
int say_failure(attune::ErrorCode code, const std::string& sentence, bool wants_json) {
  attune::print_line(stderr, "attune: " + sentence);
  if (wants_json) attune::print_json({{"error", {{"code", attune::name(code)}, {"message", sentence}}}});
  return attune::exit_status(code);
}

int guarded_run(int argc, char** argv) {
  using attune::ErrorCode;
  const bool json = std::any_of(argv, argv + argc, [](std::string_view one) { return one.starts_with("--json"); });
  try {
    const int status = run(argc, argv);
    check_standard_output();
    return status;
  } catch (const attune::Error& error) {
    if (attune::is_interrupted()) return attune::interrupt_status();
    return say_failure(error.code(), error.what(), json);
  } catch (const std::bad_alloc&) {
    return say_failure(ErrorCode::unavailable, "out of memory; tune smaller shapes or close other programs", json);
  } catch (const std::filesystem::filesystem_error& error) {
    return say_failure(ErrorCode::invalid_input,
                       fmt::format("cannot use a path ({}), check its mode or name another: '{}'",
                                   error.code().message(), error.path1().string()),
                       json);
  } catch (const std::exception& error) {
    return say_failure(ErrorCode::internal, std::string("a bug, please report it: ") + error.what(), json);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGCHLD, SIG_DFL);  // Some supervisors ignore it, and then no child can be waited for.
  std::signal(SIGXFSZ, SIG_IGN);  // A write over a file-size limit then fails instead of killing the process.
  const int status = guarded_run(argc, argv);
  std::fflush(nullptr);
#if defined(ATTUNE_SANITIZED) || defined(ATTUNE_NORMAL_EXIT)
  return status;
#else
  // Skips the destructors of the solver modules' libraries: OpenBLAS joins threads there that may never end.
  std::_Exit(status);
#endif
}
