// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>

#include "server/http/http_limits.h"
#include "server/http/http_message.h"
#include "server/http/listen_address.h"

namespace attune {

/// An HTTP/1.1 server with hard limits. It answers GET, HEAD and, on `form_path`, POST of a form; other
/// methods get 405, and a request with a body elsewhere 400 and its connection closed, so that the body is not
/// taken for the next request. Every answer forbids scripts and styles of others, framing, and guessing of types.
class HttpServer {
 public:
  /// Binds. Throws io, with the reason, when the address cannot be had.
  HttpServer(const ListenAddress& address, const HttpLimits& limits, HttpHandler handler, std::string form_path = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const noexcept;
  /// Serves until stop(). Starts threads, at most one a connection, and ends them before it returns.
  void run();
  /// Ends run() within about a second. Thread-safe; not for signal handlers.
  void stop() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace attune
