// SPDX-License-Identifier: MIT
#include "store/socket_watch.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

namespace attune {
namespace {

/// A server that accepts connections and never answers.
class SilentServer {
 public:
  SilentServer() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address_);
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address_), size);
    ::listen(listener_, 4);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address_), &size);
  }
  ~SilentServer() { ::close(listener_); }
  SilentServer(const SilentServer&) = delete;
  SilentServer& operator=(const SilentServer&) = delete;

  int connected() const {
    const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(client, reinterpret_cast<const sockaddr*>(&address_), sizeof(address_)), 0);
    return client;
  }

 private:
  int listener_;
  sockaddr_in address_{};
};

/// What the client gets; 0: the connection has ended.
ssize_t answer(int client) {
  char byte = 0;
  return ::recv(client, &byte, 1, 0);
}

constexpr double kSoon = 0.1, kLater = 60;

TEST(SocketWatch, ACallThatGetsNoAnswerEndsAtItsDeadline) {
  const SilentServer server;
  const int other = server.connected();
  SocketWatch watch;
  int client = -1;
  watch.connect(kLater, [&] { client = server.connected(); });
  EXPECT_EQ(watch.call(kSoon, [&] { return answer(client); }), 0);
  EXPECT_EQ(::send(other, "", 1, MSG_NOSIGNAL), 1) << "other connections stay";
  ::close(client);
  ::close(other);
}

TEST(SocketWatch, AnOpeningThatGetsNoAnswerEndsAtItsDeadline) {
  const SilentServer server;
  SocketWatch watch;
  ssize_t got = -1;
  watch.connect(kSoon, [&] {
    const int client = server.connected();
    got = answer(client);
    ::close(client);
  });
  EXPECT_EQ(got, 0);
}

TEST(SocketWatch, WhatEndsInTimeLeavesTheConnection) {
  const SilentServer server;
  SocketWatch watch;
  int client = -1;
  watch.connect(kLater, [&] { client = server.connected(); });
  watch.call(kLater, [] {});
  EXPECT_EQ(::send(client, "", 1, MSG_NOSIGNAL), 1);
  ::close(client);
  watch.forget();
  EXPECT_THROW(watch.connect(kLater, [] { throw std::runtime_error("refused"); }), std::runtime_error);
}

}  // namespace
}  // namespace attune
