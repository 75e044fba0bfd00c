// SPDX-License-Identifier: MIT
#include "server/serve.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "server/http/http_server.h"
#include "server/site.h"

namespace attune {

void serve(const ServerSettings& settings, const std::atomic<bool>& is_over,
           const std::function<void(const std::string& url)>& is_ready) {
  ListenAddress address = parse_listen_address(settings.listen);
  std::optional<AccessToken> token;
  if (!settings.token_file.empty()) token = AccessToken::read(settings.token_file);
  static_cast<void>(AccessRule(address, settings.allow_hosts, token));  // Refuses before a port is taken.

  std::unique_ptr<Site> site;
  HttpServer server(
      address, {}, [&](const HttpRequest& request) { return site->answer(request); }, AccessRule::kLoginPath);
  address.port = server.port();
  static_cast<void>(open_sql_journal_read_only(settings.journal));  // Bad input now is no page that says so later.
  site = std::make_unique<Site>(settings.journal, AccessRule(address, settings.allow_hosts, std::move(token)),
                                settings.read_rows);

  std::atomic<bool> has_ended = false;
  std::thread ending([&] {
    while (!is_over && !has_ended) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    server.stop();
  });
  is_ready(fmt::format("http://{}/", address.text()));
  server.run();
  has_ended = true;
  ending.join();
}

}  // namespace attune
