// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/line_output.h"
#include "base/locations.h"
#include "base/text.h"
#include "base/trusted_path.h"
#include "campaign/interrupt.h"
#include "cli/command.h"
#include "cli/flags/arguments.h"
#include "server/serve.h"
#include "solver/modules/module_file.h"
#include "tables/summary/kept_summaries.h"

namespace attune {
namespace {

struct ServeOptions {
  std::string listen = "127.0.0.1:8080", token_file;
  std::vector<std::string> allow_hosts, tables, journals;
};

/// Opens the server's module. Throws unavailable with the loader's reason.
ServeEntry* server_entry() {
  std::string reason = "it is not installed";
  for (const auto& folder : own_module_folders()) {
    const auto file = folder / "attune_server.so";
    if (!std::filesystem::exists(file)) continue;
    if (const auto why = why_not_trusted(file, code_file()))
      fail(ErrorCode::unavailable, "the server's module is not opened, {}", *why);
    void* module = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (module != nullptr) {
      if (auto* entry = reinterpret_cast<ServeEntry*>(::dlsym(module, kServeEntry))) return entry;
    }
    reason = ::dlerror();
    break;
  }
  fail(ErrorCode::unavailable,
       "the server's module attune_server.so cannot be opened, build its target attune_server_module or install it: {}",
       reason);
}

int run_serve(const ServeOptions& options) {
  KeptSummaries tables(options.tables);
  if (!options.tables.empty()) static_cast<void>(tables.rows());  // Refuses wrong ones.
  std::vector<std::filesystem::path> journals;
  for (const std::string& one : options.journals) journals.push_back(journal_file(one));
  if (journals.empty()) journals.push_back(journal_file(""));
  std::vector<std::string> numbered;  // Pages and metrics have a journal's number.
  for (const auto& one : journals)
    numbered.push_back(journals.size() == 1 ? one.string() : fmt::format("{}: {}", numbered.size() + 1, one.string()));
  const ServerSettings settings{.journals = std::move(journals),
                                .listen = options.listen,
                                .token_file = options.token_file,
                                .allow_hosts = options.allow_hosts,
                                .read_rows = [&] { return tables.rows(); }};
  ServeEntry* const serve_entry = server_entry();
  const InterruptHandler interrupts;
  serve_entry(settings, interrupt_flag(), [&](const ServedAt& where) {
    if (!where.note.empty()) print_notes(std::vector{where.note});
    print_line(stdout, fmt::format("{} shows {}; end with Ctrl-C", where.place, join(numbered, ", ")));
    std::fflush(stdout);
  });
  return 0;
}

void add_serve_flags(CLI::App& command, Action& chosen) {
  auto options = std::make_shared<ServeOptions>();
  command.add_option("--journal", options->journals,
                     "Journal file; of several each is at /journals/NUMBER/ too. Default: see `attune paths`");
  command.add_option("--listen", options->listen, "Address and port; port 0: one that is free")->capture_default_str();
  command.add_option("--token-file", options->token_file,
                     "File (mode 0600) with the token that clients must bring; required for an address that other "
                     "machines reach");
  command.add_option("--allow-host", options->allow_hosts,
                     "Further name of this server, as a proxy calls it; may be repeated");
  command.add_option(
      "-t,--table", options->tables,
      "Tuned table to show beside the journal, F:F2 for several; give it once for each family. Default: the tables of "
      "the run time");
  command.callback([options, &chosen] { chosen = [options] { return run_serve(*options); }; });
}

}  // namespace

Command serve_command() {
  return {CommandGroup::inspect, "serve",
          "Show a journal in the browser: runs, results, each candidate's story, metrics; read-only", add_serve_flags};
}

}  // namespace attune
