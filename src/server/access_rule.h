// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "server/access_token.h"
#include "server/http/http_message.h"
#include "server/http/listen_address.h"

namespace attune {

/// Who may ask a server: requests that name it by its own name (against pages of other sites whose names were made to
/// point here), and, with a token, those that bring it, as `Authorization: Bearer …` or by the cookie of a login.
/// Thread-safe.
class AccessRule {
 public:
  /// The page that asks for the token, and takes it by POST.
  static constexpr const char* kLoginPath = "/login";

  /// `address`: with the port that was bound. `allow_hosts`: further names of the server, with a port or for any.
  /// Throws invalid_input for an address beyond this machine without a token.
  AccessRule(const ListenAddress& address, std::vector<std::string> allow_hosts, std::optional<AccessToken> token);

  /// Why a request is not answered; nothing: it is.
  std::optional<HttpAnswer> refusal(const HttpRequest& request) const;
  /// Answers GET and POST of the login page.
  HttpAnswer login(const HttpRequest& request) const;

 private:
  bool is_own_host(const std::string& host) const;
  bool has_token(const HttpRequest& request) const;
  /// Browsers send a cookie to every port of a host, so its name holds the port that the browser sees.
  std::string cookie_name(const HttpRequest& request) const;

  uint16_t port_;
  std::vector<std::string> hosts_;  ///< In lower case; without a port: for any.
  std::optional<AccessToken> token_;
  AccessToken session_ = AccessToken::random();  ///< Value of the cookie; a restart of the server ends it.
};

}  // namespace attune
