// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/line_output.h"
#include "base/locations.h"
#include "campaign/interrupt.h"
#include "cli/command.h"
#include "cli/flags/arguments.h"
#include "server/http/http_server.h"
#include "server/site.h"
#include "store/journal.h"

namespace attune {
namespace {

struct ServeOptions {
  std::string journal, listen = ListenAddress().text(), token_file;
  std::vector<std::string> allow_hosts;
};

int run_serve(const ServeOptions& options) {
  const auto file = journal_file(options.journal);
  static_cast<void>(open_sql_journal_read_only(file));  // What cannot be read is bad input now, and not an empty page.
  ListenAddress address = parse_listen_address(options.listen);
  std::optional<AccessToken> token;
  if (!options.token_file.empty()) token = AccessToken::read(options.token_file);
  static_cast<void>(AccessRule(address, options.allow_hosts, token));  // Refuses before a port is taken.

  std::unique_ptr<Site> site;
  HttpServer server(
      address, {}, [&](const HttpRequest& request) { return site->answer(request); }, AccessRule::kLoginPath);
  address.port = server.port();
  site = std::make_unique<Site>(file, AccessRule(address, options.allow_hosts, std::move(token)));

  const InterruptHandler interrupts;
  std::atomic<bool> is_over = false;
  std::thread ending([&] {
    while (!is_over && !is_interrupted()) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    server.stop();
  });
  print_line(stdout, fmt::format("http://{}/ shows {}; end with Ctrl-C", address.text(), file.string()));
  std::fflush(stdout);
  server.run();
  is_over = true;
  ending.join();
  return 0;
}

void add_serve_flags(CLI::App& command, Action& chosen) {
  auto options = std::make_shared<ServeOptions>();
  command.add_option("--journal", options->journal, "Journal file; default: see `attune paths`");
  command.add_option("--listen", options->listen, "Address and port; port 0: one that is free")->capture_default_str();
  command.add_option("--token-file", options->token_file,
                     "File (mode 0600) with the token that clients must bring; required for an address that other "
                     "machines reach");
  command.add_option("--allow-host", options->allow_hosts,
                     "Further name of this server, as a proxy calls it; may be repeated");
  command.callback([options, &chosen] { chosen = [options] { return run_serve(*options); }; });
}

}  // namespace

Command serve_command() {
  return {CommandGroup::inspect, "serve",
          "Show a journal in the browser: runs, results, each candidate's story, metrics; read-only", add_serve_flags};
}

}  // namespace attune
