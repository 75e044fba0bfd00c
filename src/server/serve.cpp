// SPDX-License-Identifier: MIT
#include "server/serve.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "base/text.h"
#include "server/http/http_server.h"
#include "server/site.h"

namespace attune {
namespace {

/// `address`: with the port that was bound.
ServedAt served_at(const ListenAddress& address, const std::vector<std::string>& allow_hosts) {
  if (!address.is_any()) return {fmt::format("http://{}/", address.text()), ""};
  std::vector<std::string> names = {address.text()};
  names.insert(names.end(), allow_hosts.begin(), allow_hosts.end());
  return {address.text(), fmt::format("requests are answered if their Host is {}, every other name or address of this "
                                      "machine gets 421 until it is given by --allow-host",
                                      join(names, " or "))};
}

/// Bad input now is no page that says so later.
void check_journals(const std::vector<std::filesystem::path>& journals) {
  if (journals.size() > kMaxJournals)
    fail(ErrorCode::invalid_input, "a server shows at most {} journals, got {}", kMaxJournals, journals.size());
  for (size_t i = 0; i < journals.size(); ++i) {
    static_cast<void>(open_sql_journal_read_only(journals[i]));
    for (size_t j = 0; j < i; ++j) {
      std::error_code gone;
      if (std::filesystem::equivalent(journals[j], journals[i], gone))
        fail(ErrorCode::invalid_input, "{} is given twice as a journal", journals[i].string());
    }
  }
}

}  // namespace

void serve(const ServerSettings& settings, const std::atomic<bool>& is_over,
           const std::function<void(const ServedAt& where)>& is_ready) {
  ListenAddress address = parse_listen_address(settings.listen);
  std::optional<AccessToken> token;
  if (!settings.token_file.empty()) token = AccessToken::read(settings.token_file);
  static_cast<void>(AccessRule(address, settings.allow_hosts, token));  // Refuses before a port is taken.

  std::unique_ptr<Site> site;
  HttpServer server(
      address, {}, [&](const HttpRequest& request) { return site->answer(request); }, AccessRule::kLoginPath);
  address.port = server.port();
  check_journals(settings.journals);
  site = std::make_unique<Site>(settings.journals, AccessRule(address, settings.allow_hosts, std::move(token)),
                                settings.read_rows);

  std::atomic<bool> has_ended = false;
  std::thread ending([&] {
    while (!is_over && !has_ended) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    server.stop();
  });
  is_ready(served_at(address, settings.allow_hosts));
  server.run();
  has_ended = true;
  ending.join();
}

}  // namespace attune
