// SPDX-License-Identifier: MIT
#include "server/http/http_server.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <exception>

#include "base/descriptor.h"
#include "base/error.h"
#include "server/http/answer_head.h"
#include "server/http/connection_stream.h"
#include "server/http/connection_threads.h"
#include "server/http/listening_socket.h"
#include "server/http/request_parser.h"

namespace attune {
namespace {

HttpAnswer text_answer(int status, std::string text) { return {.status = status, .body = std::move(text) + "\n"}; }

HttpAnswer busy_answer(std::string text) {
  HttpAnswer answer = text_answer(503, std::move(text));
  answer.headers.emplace_back("Retry-After", "5");
  return answer;
}

/// Answers a request whose end is unknown: the lines behind it could hold another, which somebody hid there.
void refuse(ConnectionStream& stream, const HttpAnswer& answer) {
  static_cast<void>(stream.write(answer_head(answer, BodyEnd::length, true) + answer.body));
}

}  // namespace

struct HttpServer::State {
  State(const ListenAddress& address, const HttpLimits& limits, HttpHandler handler, std::string form_path)
      : limits_(limits),
        handler_(std::move(handler)),
        form_path_(std::move(form_path)),
        listening_(listening_socket(address)),
        port_(port_of(listening_)) {}

  void run() {
    ConnectionThreads threads(limits_.max_connections, [this] { return waiting_.end_longest(); });
    while (!is_ended_) {
      const int socket = ::accept4(listening_.number(), nullptr, nullptr, SOCK_CLOEXEC);
      if (socket >= 0)
        begin(threads, socket);
      else if (errno != EINTR && errno != ECONNABORTED)  // The process has no descriptor left, or the server ends.
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

  void end() noexcept {
    is_ended_ = true;
    waiting_.end_all();  // A client that sends a byte now and then would hold it as long as a request may take.
    ::shutdown(listening_.number(), SHUT_RDWR);
  }

  uint16_t port() const noexcept { return port_; }

 private:
  /// Has a thread serve the connection, or refuses it at once.
  void begin(ConnectionThreads& threads, int socket) {
    const int yes = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    const auto serve_and_close = [this, socket] {
      const Descriptor owned(socket);
      serve(socket);
      ::shutdown(socket, SHUT_RDWR);
    };
    if (threads.enqueue(serve_and_close)) return;
    const Descriptor owned(socket);
    const HttpAnswer busy = busy_answer("too many connections are open");
    const std::string text = answer_head(busy, BodyEnd::length, true) + busy.body;
    static_cast<void>(::send(socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    ::shutdown(socket, SHUT_RDWR);
  }

  void serve(int socket) noexcept {
    try {
      ConnectionStream stream(socket, limits_, waiting_);
      while (stream.begin_request([this] { return is_ended_.load(); }) && serve_request(stream)) {
      }
    } catch (const std::exception&) {  // Memory has run out, or a stream of events failed: the connection ends.
    }
  }

  /// Returns whether the connection goes on.
  bool serve_request(ConnectionStream& stream) {
    std::string text;
    const ReadEnd read = stream.read_head(text);
    if (read == ReadEnd::gone || read == ReadEnd::too_large) return false;
    std::optional<ParsedHead> head;
    if (read == ReadEnd::whole) head = parse_head(text);
    if (!head) {
      refuse(stream, text_answer(400, "the request is malformed"));
      return false;
    }
    const HttpRequest& request = head->request;
    const bool is_form = !form_path_.empty() && request.method == "POST" && request.path == form_path_;
    if (is_form && head->body_bytes) {
      if (!read_form(stream, *head)) return false;
    } else if (head->has_body) {
      refuse(stream, text_answer(400, "this request has a body, which nothing here reads"));
      return false;
    } else if (request.method != "GET" && request.method != "HEAD") {
      HttpAnswer refusal = text_answer(405, "only GET and HEAD are answered here");
      refusal.headers.emplace_back("Allow", "GET, HEAD");
      refuse(stream, refusal);
      return false;
    }
    stream.end_request();
    return answer(stream, *head);
  }

  /// Reads the fields of a form; returns false if they are refused or do not come.
  bool read_form(ConnectionStream& stream, ParsedHead& head) {
    if (head.expects_continue && !stream.write("HTTP/1.1 100 Continue\r\n\r\n")) return false;
    std::string body;
    const ReadEnd read = stream.read_body(*head.body_bytes, body);
    if (read == ReadEnd::too_large) refuse(stream, text_answer(413, "the form is too large"));
    if (read != ReadEnd::whole) return false;
    if (head.is_form) head.request.form = parse_fields(body);
    return true;
  }

  HttpAnswer handled(const HttpRequest& request) const {
    try {
      return handler_(request);
    } catch (const std::exception&) {  // Its text may hold what only the server's user may know.
      return text_answer(500, "the server failed to answer");
    }
  }

  /// Returns whether the connection goes on.
  bool answer(ConnectionStream& stream, const ParsedHead& head) {
    HttpAnswer made = handled(head.request);
    const bool is_head = head.request.method == "HEAD";
    const bool closes = !head.keeps_alive || stream.must_end();
    if (!made.parts || is_head)
      return stream.write(answer_head(made, BodyEnd::length, closes) + (is_head ? "" : made.body)) && !closes;
    const StreamPlace place(*this);
    if (place.is_had()) return send_parts(stream, made, head.is_version_1_0, closes);
    made = busy_answer("too many streams are open");
    return stream.write(answer_head(made, BodyEnd::length, closes) + made.body) && !closes;
  }

  /// One of the streams that may be open.
  class StreamPlace {
   public:
    explicit StreamPlace(State& state) : state_(state), is_had_(++state.num_streams_ <= state.limits_.max_streams) {}
    ~StreamPlace() { --state_.num_streams_; }
    StreamPlace(const StreamPlace&) = delete;
    StreamPlace& operator=(const StreamPlace&) = delete;
    bool is_had() const { return is_had_; }

   private:
    State& state_;
    const bool is_had_;
  };

  bool send_parts(ConnectionStream& stream, const HttpAnswer& made, bool is_version_1_0, bool closes) {
    closes |= is_version_1_0;  // Which has no chunks: the body ends with the connection.
    if (!stream.write(answer_head(made, is_version_1_0 ? BodyEnd::close : BodyEnd::chunks, closes))) return false;
    while (!stream.is_abandoned() && !stream.must_end()) {
      const auto part = is_ended_ ? std::nullopt : made.parts();
      if (!part) return (is_version_1_0 || stream.write("0\r\n\r\n")) && !closes;
      if (part->empty()) continue;
      if (!stream.write(is_version_1_0 ? *part : fmt::format("{:x}\r\n{}\r\n", part->size(), *part))) return false;
    }
    return false;
  }

  const HttpLimits limits_;
  const HttpHandler handler_;
  const std::string form_path_;
  const Descriptor listening_;
  const uint16_t port_;
  WaitingClients waiting_;
  std::atomic<bool> is_ended_ = false;
  std::atomic<size_t> num_streams_ = 0;
};

HttpServer::HttpServer(const ListenAddress& address, const HttpLimits& limits, HttpHandler handler,
                       std::string form_path)
    : state_(std::make_unique<State>(address, limits, std::move(handler), std::move(form_path))) {}
HttpServer::~HttpServer() = default;

uint16_t HttpServer::port() const noexcept { return state_->port(); }
void HttpServer::run() { state_->run(); }
void HttpServer::stop() noexcept { state_->end(); }

}  // namespace attune
