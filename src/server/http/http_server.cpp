// SPDX-License-Identifier: MIT
#include "server/http/http_server.h"

#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>

#include "base/error.h"
#include "server/http/connection_stream.h"
#include "server/http/connection_threads.h"

namespace attune {
namespace {

/// No script, style or picture but the server's own; no frame around it.
constexpr const char* kContentPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
constexpr std::string_view kBusy =
    "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n";
constexpr std::string_view kMalformed = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

HttpAnswer text_answer(int status, std::string text) { return {.status = status, .body = std::move(text) + "\n"}; }

HttpRequest request_of(const httplib::Request& from) {
  HttpRequest request{.method = from.method, .path = from.path};
  // httplib counts the fields of a form among those of the query.
  auto& fields = from.method == "POST" ? request.form : request.query;
  for (const auto& [name, value] : from.params) fields.emplace(name, value);
  if (from.get_header_value_count("Host") == 1) request.host = from.get_header_value("Host");
  request.authorization = from.get_header_value("Authorization");
  request.cookie = from.get_header_value("Cookie");
  request.if_none_match = from.get_header_value("If-None-Match");
  request.last_event_id = from.get_header_value("Last-Event-ID");
  return request;
}

bool has_body(const httplib::Request& request) {
  return request.has_header("Transfer-Encoding") || request.get_header_value_count("Content-Length") > 1 ||
         (request.has_header("Content-Length") && request.get_header_value("Content-Length") != "0");
}

/// Whether the library and every proxy read the same length of the body.
bool has_plain_length(const httplib::Request& request) {
  const std::string length = request.get_header_value("Content-Length");
  return !request.has_header("Transfer-Encoding") && request.get_header_value_count("Content-Length") == 1 &&
         !length.empty() && std::ranges::all_of(length, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

struct HttpServer::State : httplib::Server {
  State(const ListenAddress& address, const HttpLimits& limits, HttpHandler handler, std::string form_path)
      : limits_(limits), handler_(std::move(handler)), form_path_(std::move(form_path)) {
    new_task_queue = [this] {  // The library deletes it.
      return new ConnectionThreads(limits_.max_connections, [this] { return waiting_.end_longest(); });
    };
    set_tcp_nodelay(true);
    set_payload_max_length(limits_.max_request_bytes);
    // Without SO_REUSEPORT, which the library sets: another program of this user could share the port.
    set_socket_options([](int socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      return route(request, response) ? HandlerResponse::Handled : HandlerResponse::Unhandled;
    });
    if (!form_path_.empty())
      Post(form_path_, [this](const httplib::Request& request, httplib::Response& response) {
        answer(request, response, [&] { return handler_(request_of(request)); });
      });
    // What the library itself refuses has the same headers. It asks for those of our own answers too, which have them.
    set_error_handler([](const httplib::Request&, httplib::Response& response) {
      if (response.has_header("Content-Security-Policy")) return;
      set_common_headers(response);
      if (!current_->is_read()) response.set_header("Connection", "close");
      if (response.body.empty()) response.set_content("refused\n", "text/plain; charset=utf-8");
    });
    const int bound = address.port == 0                          ? bind_to_any_port(address.host)
                      : bind_to_port(address.host, address.port) ? address.port
                                                                 : -1;
    if (bound <= 0)
      fail(ErrorCode::io, "the server cannot listen on {}: {}; choose another address with --listen", address.text(),
           std::generic_category().message(errno));
    // The library lets five connections wait; a client beyond them would try again a second later.
    constexpr int kMaxAhead = 128;
    ::listen(svr_sock_, kMaxAhead);
    port_ = static_cast<uint16_t>(bound);
  }

  ~State() override {
    if (!has_run_) ::close(svr_sock_);  // Afterwards the library has.
  }

  void run() {
    has_run_ = true;
    listen_after_bind();
  }

  void end() noexcept {
    is_ended_ = true;
    waiting_.end_all();  // A client that sends a byte now and then would hold it as long as a request may take.
    // The library's stop() does nothing until the first wait for a connection, which this ends whenever it comes.
    ::shutdown(svr_sock_, SHUT_RDWR);
  }

  uint16_t port_ = 0;

 private:
  bool has_run_ = false;

  static void set_common_headers(httplib::Response& response) {
    response.set_header("Content-Security-Policy", kContentPolicy);
    response.set_header("X-Content-Type-Options", "nosniff");
    response.set_header("X-Frame-Options", "DENY");
    response.set_header("Referrer-Policy", "no-referrer");
    response.set_header("Cross-Origin-Resource-Policy", "same-origin");
  }

  /// Answers all but a form, whose body the library reads first.
  bool route(const httplib::Request& request, httplib::Response& response) {
    const bool is_form = !form_path_.empty() && request.method == "POST" && request.path == form_path_;
    if (is_form && has_plain_length(request)) return false;
    if (has_body(request)) {
      current_->must_close = true;
      answer(request, response, [] { return text_answer(400, "this request has a body, which nothing here reads"); });
    } else if (request.method != "GET" && request.method != "HEAD") {
      current_->must_close = true;
      answer(request, response, [] {
        HttpAnswer refusal = text_answer(405, "only GET and HEAD are answered here");
        refusal.headers.emplace_back("Allow", "GET, HEAD");
        return refusal;
      });
    } else {
      answer(request, response, [&] { return handler_(request_of(request)); });
    }
    return true;
  }

  template <typename Make>
  void answer(const httplib::Request& request, httplib::Response& response, Make make) {
    current_->end_request();
    HttpAnswer made;
    try {
      made = make();
    } catch (const std::exception&) {  // Its text may hold what only the server's user may know.
      made = text_answer(500, "the server failed to answer");
    }
    if (made.parts && num_streams_ >= limits_.max_streams) {
      made = text_answer(503, "too many streams are open");
      made.headers.emplace_back("Retry-After", "5");
    }
    if (current_->must_end()) current_->must_close = true;
    response.status = made.status;
    set_common_headers(response);
    for (const auto& [name, value] : made.headers) response.set_header(name, value);
    if (current_->must_close) response.set_header("Connection", "close");
    if (made.parts && request.method != "HEAD")
      send_parts(response, std::move(made));
    else
      response.set_content(made.body, made.type);
  }

  void send_parts(httplib::Response& response, HttpAnswer made) {
    ++num_streams_;
    response.set_chunked_content_provider(
        made.type,
        [this, parts = std::move(made.parts)](size_t, httplib::DataSink& sink) {
          if (current_->is_abandoned() || current_->must_end()) return false;
          const auto part = is_ended_ ? std::nullopt : parts();
          if (!part) {
            sink.done();
            return true;
          }
          return part->empty() || sink.write(part->data(), part->size());
        },
        [this](bool) { --num_streams_; });
  }

  /// The library calls it, in a thread of its queue, for each connection.
  bool process_and_close_socket(socket_t socket) override {
    if (ConnectionThreads::is_refusal())
      static_cast<void>(::send(socket, kBusy.data(), kBusy.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    else
      serve(socket);
    ::shutdown(socket, SHUT_RDWR);
    ::close(socket);
    return true;
  }

  void serve(socket_t socket) {
    ConnectionStream stream(socket, limits_, waiting_);
    current_ = &stream;
    bool is_closed = false;
    while (!is_closed && !stream.must_close && stream.begin_request([this] { return is_ended_.load(); })) {
      const bool is_served = process_request(stream, false, is_closed, [](httplib::Request& request) {
        request.ranges.clear();  // Many ranges of one answer would multiply it.
      });
      // The library answers a malformed field, not a malformed first line.
      if (stream.is_malformed() && !stream.has_answered())
        static_cast<void>(stream.write(kMalformed.data(), kMalformed.size()));
      // The lines behind what is no request could hold one that somebody else hid there.
      if (!is_served || !stream.is_read()) break;
    }
    current_ = nullptr;
  }

  const HttpLimits limits_;
  const HttpHandler handler_;
  const std::string form_path_;
  WaitingClients waiting_;
  std::atomic<bool> is_ended_ = false;
  std::atomic<size_t> num_streams_ = 0;
  static thread_local ConnectionStream* current_;  ///< The connection that the calling thread serves.
};

thread_local ConnectionStream* HttpServer::State::current_ = nullptr;

HttpServer::HttpServer(const ListenAddress& address, const HttpLimits& limits, HttpHandler handler,
                       std::string form_path)
    : state_(std::make_unique<State>(address, limits, std::move(handler), std::move(form_path))) {}
HttpServer::~HttpServer() = default;

uint16_t HttpServer::port() const noexcept { return state_->port_; }
void HttpServer::run() { state_->run(); }
void HttpServer::stop() noexcept { state_->end(); }

}  // namespace attune
