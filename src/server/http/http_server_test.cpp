// SPDX-License-Identifier: MIT
#include "server/http/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "attune/error.h"
#include "testing/becomes_true.h"

namespace attune {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// A connection as any program could make it.
class Client {
 public:
  explicit Client(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  ~Client() { ::close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void send(std::string_view text) const { static_cast<void>(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL)); }
  /// What comes until `end` is in it, the connection is closed or the time is over.
  std::string receive(const std::string& end, int most_ms = 10'000) const {
    std::string got;
    std::array<char, 4096> block;
    pollfd one{socket_, POLLIN, 0};
    while (got.find(end) == std::string::npos && ::poll(&one, 1, most_ms) > 0) {
      const ssize_t size = ::recv(socket_, block.data(), block.size(), 0);
      if (size <= 0) return got + "<closed>";
      got.append(block.data(), static_cast<size_t>(size));
    }
    return got;
  }
  std::string ask(std::string_view text) const {
    send(text);
    const std::string head = receive("\r\n\r\n", 10'000);  // A busy machine is slow to begin, and then is not.
    return head.ends_with("<closed>") ? head : head + receive("<never>", 300);
  }

 private:
  int socket_;
};

class HttpServerTest : public testing::Test {
 protected:
  HttpServerTest()
      : server_(
            {"127.0.0.1", 0}, limits(), [this](const HttpRequest& request) { return answer(request); }, "/login") {
    thread_ = std::thread([this] { server_.run(); });
  }
  ~HttpServerTest() override {
    is_held_ = false;
    server_.stop();
    thread_.join();
  }
  static HttpLimits limits() {
    return {.max_connections = 8,
            .max_streams = 1,
            .max_request_bytes = 1024,
            .request_time = std::chrono::milliseconds(800),
            .idle_time = std::chrono::milliseconds(3000)};
  }
  HttpAnswer answer(const HttpRequest& request) {
    ++num_requests_;
    if (request.path == "/absent") return {.status = 404, .body = "absent"};
    if (request.path == "/large") return {.body = std::string(4'000'000, 'x')};
    while (request.path == "/holds" && is_held_) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (request.path == "/works") std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (request.path == "/fails") throw std::runtime_error("a secret of the server");
    if (request.path == "/quiet")
      return {.type = "text/event-stream", .parts = [] {
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
                return std::optional<std::string>("");
              }};
    if (request.path == "/counts")
      return {.type = "text/event-stream", .parts = [count = 0]() mutable {
                return ++count > 2 ? std::nullopt : std::optional<std::string>(std::to_string(count));
              }};
    std::string body = request.method + " " + request.path;
    for (const auto& [name, value] : request.query) body += " " + name + "=" + value;
    for (const auto& [name, value] : request.form) body += " form " + name + "=" + value;
    return {.body = body, .headers = {{"X-Own", "1"}}};
  }

  /// As many connections as the server takes, each with the beginning of what it sends.
  std::vector<std::unique_ptr<Client>> clients(std::string_view text) const {
    std::vector<std::unique_ptr<Client>> all;
    for (size_t i = 0; i < limits().max_connections; ++i) {
      all.push_back(std::make_unique<Client>(server_.port()));
      all.back()->send(text);
    }
    return all;
  }

  std::atomic<int> num_requests_ = 0;
  std::atomic<bool> is_held_ = true;
  HttpServer server_;
  std::thread thread_;
};

TEST_F(HttpServerTest, AnswersSeveralRequestsOfAConnection) {
  const Client client(server_.port());
  const std::string first = client.ask("GET /a%2fb?x=1%202&y HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(first, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(first, HasSubstr("GET /a/b x=1 2"));
  EXPECT_THAT(first, HasSubstr("X-Own: 1"));
  EXPECT_THAT(first, HasSubstr("default-src 'none'"));
  const std::string second = client.ask("HEAD /c HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(second, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(second, Not(HasSubstr("HEAD /c"))) << "an answer to HEAD has no body";
  EXPECT_THAT(Client(server_.port())
                  .ask("POST /login HTTP/1.1\r\nHost: h\r\nContent-Length: 7\r\n"
                       "Content-Type: application/x-www-form-urlencoded\r\n\r\ntoken=t"),
              HasSubstr("POST /login form token=t"));
}

TEST_F(HttpServerTest, ReadsAFormThatComesInPartsAndOnlyUpToItsEnd) {
  const std::string head =
      "POST /login HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ";
  const Client client(server_.port());
  client.send(head + "7\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_THAT(client.receive("\r\n\r\n"), StartsWith("HTTP/1.1 100"));
  client.send("tok");
  EXPECT_EQ(client.receive("<never>", 50), "");
  client.send("en=tGET /a HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(client.receive("GET /a"), HasSubstr("form token=t"));
  const std::string large = Client(server_.port()).ask(head + "5000\r\n\r\n" + std::string(5000, 'x'));
  EXPECT_THAT(large, StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(large, HasSubstr("<closed>"));
}

TEST_F(HttpServerTest, AClientOfHttp10GetsAStreamThatEndsWithTheConnection) {
  const Client client(server_.port());
  client.send("GET /counts HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\n\r\n");
  const std::string old = client.receive("<closed>");
  EXPECT_THAT(old, Not(HasSubstr("chunked")));
  EXPECT_THAT(old, HasSubstr("\r\n\r\n12<closed>"));
  const std::string now = Client(server_.port()).ask("GET /counts HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(now, HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_THAT(now, HasSubstr("\r\n\r\n1\r\n1\r\n1\r\n2\r\n0\r\n\r\n"));
}

TEST_F(HttpServerTest, RefusesOtherMethodsAndBodiesAndClosesTheConnection) {
  for (const char* method : {"PUT", "DELETE", "POST", "OPTIONS", "PATCH"}) {
    const std::string got = Client(server_.port()).ask(std::string(method) + " / HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_THAT(got, StartsWith("HTTP/1.1 405")) << method;
    EXPECT_THAT(got, HasSubstr("<closed>")) << method;
  }
  const std::string hidden = "GET /hidden HTTP/1.1\r\nHost: h\r\n\r\n";
  const std::vector<std::string> hows = {"Content-Length: " + std::to_string(hidden.size()) + "\r\n",
                                         "Transfer-Encoding: chunked\r\n", "Content-Length: 1\r\nContent-Length: 2\r\n",
                                         "Content-Length: 0\r\nContent-Length: 38\r\n",
                                         "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n"};
  for (const std::string& how : hows) {
    for (const char* start : {"GET / HTTP/1.1\r\nHost: h\r\n", "POST /other HTTP/1.1\r\nHost: h\r\n"}) {
      const std::string got = Client(server_.port()).ask(start + how + "\r\n" + hidden);
      EXPECT_THAT(got, Not(HasSubstr("\r\n\r\nGET /hidden"))) << start << how;
      EXPECT_EQ(num_requests_, 0) << start << how;
    }
  }
}

TEST_F(HttpServerTest, BehindWhatIsNoRequestNothingIsRead) {
  for (const char* start : {"PRI * HTTP/2.0\r\n", "GET  HTTP/1.1\r\n", "get / HTTP/1.1\r\n", "GET /\r\n"}) {
    const std::string got = Client(server_.port()).ask(std::string(start) + "GET /hidden HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_THAT(got, StartsWith("HTTP/1.1 400")) << start;
    EXPECT_THAT(got, HasSubstr("Connection: close\r\n")) << start;
    EXPECT_THAT(got, HasSubstr("<closed>")) << start;
    EXPECT_EQ(num_requests_, 0) << start;
  }
}

TEST_F(HttpServerTest, RefusesAHeadThatAProxyCouldReadOtherwise) {
  const std::string hidden = "GET /hidden HTTP/1.1\r\nHost: h\r\n\r\n";
  const std::vector<std::string> heads = {"GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding : chunked\r\n\r\n",
                                          "GET / HTTP/1.1\r\nHost: h\r\nContent-Length\t: 36\r\n\r\n",
                                          "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:\r\n chunked\r\n\r\n",
                                          "GET / HTTP/1.1\r\n Host: h\r\n\r\n",
                                          "GET / HTTP/1.1\r\nHost: h\r\nX: 1\rTransfer-Encoding: chunked\r\n\r\n",
                                          "GET / HTTP/1.1\r\nHost: h\r\nX: 1\r\r\n\r\n",
                                          "GET / HTTP/1.1\nHost: h\n\n",
                                          "GET / HTTP/1.1\r\nHost: h\r\nX: 1\nTransfer-Encoding: chunked\r\n\r\n",
                                          std::string("GET / HTTP/1.1\r\nHost: h\r\nX: a\0b\r\n\r\n", 35),
                                          std::string("GET /\0 HTTP/1.1\r\nHost: h\r\n\r\n", 28),
                                          "GET /\r HTTP/1.1\r\nHost: h\r\n\r\n",
                                          "GET / HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n",
                                          "GET / HTTP/1.1\r\nHost: h\r\n: no name\r\n\r\n",
                                          "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding\x0b: chunked\r\n\r\n",
                                          "POST /login HTTP/1.1\r\nHost: h\r\nContent-Length: +0\r\n\r\n",
                                          "POST /login HTTP/1.1\r\nHost: h\r\nContent-Length: 0, 36\r\n\r\n"};
  for (const std::string& head : heads) {
    const std::string got = Client(server_.port()).ask(head + hidden);
    EXPECT_THAT(got, StartsWith("HTTP/1.1 400")) << head;
    EXPECT_THAT(got, HasSubstr("Connection: close\r\n")) << head;
    EXPECT_THAT(got, HasSubstr("<closed>")) << head;
    EXPECT_EQ(num_requests_, 0) << head;
  }
  EXPECT_THAT(Client(server_.port()).ask("GET /a HTTP/1.1\r\nHost:\th \r\nX-\xff: \r\n\r\n"),
              StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Client(server_.port()).ask("GET /a HTTP/1.1\r\nHost:\th\r\nX-1: \xc3\xa4\tb\r\n\r\n"),
              StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, WhatTheHandlerThrowsStaysSecret) {
  const std::string got = Client(server_.port()).ask("GET /fails HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(got, StartsWith("HTTP/1.1 500"));
  EXPECT_THAT(got, Not(HasSubstr("secret")));
}

TEST_F(HttpServerTest, NoHeaderComesTwice) {
  for (const char* start : {"GET /absent", "GET /a", "PUT /a", "GET /fails", "get /a"}) {
    std::istringstream lines(Client(server_.port()).ask(std::string(start) + " HTTP/1.1\r\nHost: h\r\n\r\n"));
    std::set<std::string> names;
    for (std::string line; std::getline(lines, line) && line != "\r";) {
      const std::string name = line.substr(0, line.find(':'));
      EXPECT_TRUE(names.insert(name).second) << start << ": " << name;
    }
    EXPECT_TRUE(names.contains("Content-Security-Policy")) << start;
  }
}

TEST_F(HttpServerTest, EveryAnswerTellsTheBrowserToTrustNobodyElse) {
  for (const char* start : {"GET /a", "GET /absent", "PUT /a", "GET /fails", "get /a"}) {
    const std::string got = Client(server_.port()).ask(std::string(start) + " HTTP/1.1\r\nHost: h\r\n\r\n");
    for (const char* header :
         {"Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
          "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'\r\n",
          "X-Content-Type-Options: nosniff\r\n", "X-Frame-Options: DENY\r\n", "Referrer-Policy: no-referrer\r\n"})
      EXPECT_THAT(got, HasSubstr(header)) << start;
  }
}

TEST_F(HttpServerTest, ALongOrSlowRequestIsGivenUp) {
  const Client large(server_.port());
  large.send("GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(2000, 'x') + "\r\n\r\n");
  EXPECT_THAT(large.receive("<closed>"), HasSubstr("<closed>"));
  const Client slow(server_.port());
  slow.send("GET / HTTP/1.1\r\n");
  for (int i = 0; i < 12; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    slow.send("X");
  }
  EXPECT_THAT(slow.receive("<closed>", 5000), HasSubstr("<closed>"));
  EXPECT_EQ(num_requests_, 0);
}

TEST_F(HttpServerTest, AConnectionWithoutARequestEnds) {
  EXPECT_THAT(Client(server_.port()).receive("<closed>", 10'000), HasSubstr("<closed>"));
}

TEST_F(HttpServerTest, ConnectionsAndStreamsAreBounded) {
  const Client stream(server_.port());
  stream.send("GET /quiet HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(stream.receive("\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Client(server_.port()).ask("GET /quiet HTTP/1.1\r\nHost: h\r\n\r\n"), StartsWith("HTTP/1.1 503"));
  std::vector<std::unique_ptr<Client>> others;
  while (others.size() + 1 < limits().max_connections) {  // The stream has a place, too.
    const int num_before = num_requests_;
    others.push_back(std::make_unique<Client>(server_.port()));
    others.back()->send("GET /holds HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_TRUE(becomes_true([&] { return num_requests_ == num_before + 1; }));
  }
  EXPECT_THAT(Client(server_.port()).receive("<closed>"), StartsWith("HTTP/1.1 503"));
}

TEST_F(HttpServerTest, ANewConnectionTakesThePlaceOfASlowOne) {
  const auto slow = clients("GET / HTTP/1.1\r\nX");
  std::vector<std::unique_ptr<Client>> honest;
  for (size_t i = 0; i < limits().max_connections + 2; ++i) {
    EXPECT_TRUE(becomes_true([&] {  // Once the server waits for one of them.
      honest.push_back(std::make_unique<Client>(server_.port()));
      honest.back()->send("GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
      return honest.back()->receive("GET /a").starts_with("HTTP/1.1 200");
    })) << i;
  }
  EXPECT_THAT(slow.front()->receive("<closed>"), HasSubstr("<closed>"));
}

TEST_F(HttpServerTest, AnAnswerThatNobodyTakesMakesRoom) {
  const auto slow = clients("GET /large HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_TRUE(becomes_true([&] { return num_requests_ == static_cast<int>(slow.size()); }));
  EXPECT_TRUE(becomes_true([&] {  // Once the system takes no more of the answers.
    const Client honest(server_.port());
    honest.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
    return honest.receive("GET /a").starts_with("HTTP/1.1 200");
  }));
}

TEST_F(HttpServerTest, AClientThatSendsManyRequestsAheadMakesRoom) {
  std::string ahead;
  for (int i = 0; i < 1000; ++i) ahead += "GET /works HTTP/1.1\r\nHost: h\r\n\r\n";  // For 20 s; their answers fit.
  const auto busy = clients(ahead);
  EXPECT_TRUE(becomes_true([&] { return num_requests_ > 3 * static_cast<int>(busy.size()); }));
  const auto began = std::chrono::steady_clock::now();
  for (size_t i = 0; i < 3; ++i) {
    const Client honest(server_.port());
    honest.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_THAT(honest.receive("GET /a"), StartsWith("HTTP/1.1 200"));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
}

TEST_F(HttpServerTest, AStreamWhoseClientLeavesMakesRoom) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(becomes_true([&] {
      const Client stream(server_.port());
      stream.send("GET /quiet HTTP/1.1\r\nHost: h\r\n\r\n");
      return stream.receive("\r\n\r\n").starts_with("HTTP/1.1 200");
    })) << i;
  }
}

TEST(HttpServerEnd, DoesNotWaitForAClientThatSendsAByteNowAndThen) {
  HttpLimits limits;
  limits.request_time = std::chrono::seconds(60);
  HttpServer server({"127.0.0.1", 0}, limits, [](const HttpRequest&) { return HttpAnswer{}; });
  std::thread thread([&] { server.run(); });
  EXPECT_THAT(Client(server.port()).ask("GET /a HTTP/1.1\r\nHost: h\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  const Client slow(server.port());
  slow.send("GET /");
  EXPECT_EQ(slow.receive("<never>", 100), "") << "the server has begun to read it";
  const auto began = std::chrono::steady_clock::now();
  server.stop();
  thread.join();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(30));
}

TEST_F(HttpServerTest, APortThatIsTakenIsAnError) {
  EXPECT_THROW(HttpServer({"127.0.0.1", server_.port()}, {}, nullptr), Error);
}

}  // namespace
}  // namespace attune
