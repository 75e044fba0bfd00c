// SPDX-License-Identifier: MIT
#include "server/access_rule.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "server/journal_path.h"

namespace attune {
namespace {

/// The value of a cookie; empty without it.
std::string_view cookie(std::string_view cookies, std::string_view name) {
  while (!cookies.empty()) {
    const size_t end = std::min(cookies.find(';'), cookies.size());
    std::string_view one = cookies.substr(0, end);
    while (one.starts_with(' ')) one.remove_prefix(1);
    if (one.starts_with(name) && one.substr(name.size()).starts_with('=')) return one.substr(name.size() + 1);
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
  }
  return {};
}

/// A host without its port; a text that is not `name`, `name:port` or `[address]:port` as it is.
std::string_view without_port(std::string_view host) {
  const size_t bracket = host.starts_with('[') ? host.find(']') : std::string_view::npos;
  const size_t end = bracket == std::string_view::npos ? std::min(host.find(':'), host.size()) : bracket + 1;
  const std::string_view port = host.substr(end);
  const bool is_port = port.size() > 1 && port.front() == ':' &&
                       std::ranges::all_of(port.substr(1), [](char c) { return c >= '0' && c <= '9'; });
  return is_port ? host.substr(0, end) : host;
}

std::string login_page(std::string_view remark) {
  return fmt::format(
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Attune</title>"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
      "<link rel=\"stylesheet\" href=\"/style.css\"></head><body class=\"login\"><main><h1>Attune</h1>"
      "<form method=\"post\" action=\"/login\"><label for=\"token\">Token of this server</label>"
      "<input id=\"token\" name=\"token\" type=\"password\" autocomplete=\"current-password\" required>"
      "<button>Log in</button></form><p role=\"status\">{}</p></main></body></html>\n",
      remark);
}

HttpAnswer page(int status, std::string_view remark) {
  return {.status = status, .type = "text/html; charset=utf-8", .body = login_page(remark)};
}

}  // namespace

AccessRule::AccessRule(const ListenAddress& address, std::vector<std::string> allow_hosts,
                       std::optional<AccessToken> token)
    : port_(address.port), hosts_(std::move(allow_hosts)), token_(std::move(token)) {
  if (!address.is_loopback() && !token_)
    fail(ErrorCode::invalid_input, "{} is reached from other machines, protect it with --token-file", address.text());
  for (std::string& host : hosts_) {
    static_cast<void>(parse_listen_address(host));  // Throws for what is no name.
    host = to_lower(host);
  }
  hosts_.push_back(to_lower(address.text()));
  if (address.is_loopback()) {
    for (const char* host : {"127.0.0.1", "localhost", "[::1]"}) hosts_.push_back(fmt::format("{}:{}", host, port_));
  }
}

bool AccessRule::is_own_host(const std::string& host) const {
  constexpr uint16_t kHttpPort = 80;  // Clients leave it out.
  const std::string lower = to_lower(host);
  const auto is_listed = [&](std::string_view one) { return std::ranges::find(hosts_, one) != hosts_.end(); };
  return is_listed(lower) || is_listed(without_port(lower)) ||
         (port_ == kHttpPort && is_listed(fmt::format("{}:{}", lower, port_)));
}

bool AccessRule::has_token(const HttpRequest& request) const {
  constexpr std::string_view kBearer = "bearer ";
  std::string_view given = request.authorization;
  if (to_lower(given.substr(0, kBearer.size())) == kBearer) {
    given.remove_prefix(kBearer.size());
    given.remove_prefix(std::min(given.find_first_not_of(' '), given.size()));
    return token_->matches(given);
  }
  return session_.matches(cookie(request.cookie, cookie_name(request)));
}

std::string AccessRule::cookie_name(const HttpRequest& request) const {
  const std::string_view host = request.host ? std::string_view(*request.host) : std::string_view();
  const size_t name = without_port(host).size();
  return name < host.size() ? fmt::format("attune_session_{}", host.substr(name + 1))
                            : fmt::format("attune_session_{}", port_);
}

std::optional<HttpAnswer> AccessRule::refusal(const HttpRequest& request) const {
  if (!request.host || !is_own_host(*request.host))
    return HttpAnswer{.status = 421,
                      .body = "this server has another name; name it by --allow-host if this one is right\n"};
  const bool is_open = request.path == kLoginPath || request.path == "/style.css" || request.path == "/healthz";
  if (!token_ || is_open || has_token(request)) return std::nullopt;
  const std::string_view path = parse_journal_path(request.path).path;
  const bool is_page = path == "/" || path.starts_with("/pages/");
  if (is_page) return HttpAnswer{.status = 303, .body = "log in\n", .headers = {{"Location", kLoginPath}}};
  return HttpAnswer{.status = 401,
                    .body = "this server wants its token: Authorization: Bearer …\n",
                    .headers = {{"WWW-Authenticate", "Bearer"}}};
}

HttpAnswer AccessRule::login(const HttpRequest& request) const {
  if (!token_) return {.status = 303, .body = "no token is needed\n", .headers = {{"Location", "/"}}};
  if (request.method != "POST") return page(200, "");
  const auto given = request.form.find("token");
  if (given == request.form.end() || !token_->matches(given->second)) return page(403, "This is not the token.");
  return {.status = 303,
          .body = "logged in\n",
          .headers = {{"Location", "/"},
                      {"Set-Cookie", fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict", cookie_name(request),
                                                 session_.secret())}}};
}

}  // namespace attune
