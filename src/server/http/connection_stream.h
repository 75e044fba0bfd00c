// SPDX-License-Identifier: MIT
#pragma once
#include <httplib.h>
#include <poll.h>

#include <chrono>
#include <string>

#include "server/http/http_limits.h"
#include "server/http/request_head.h"
#include "server/http/waiting_clients.h"

namespace attune {

/// The bytes of one connection, as cpp-httplib reads and writes them, within the limits of a request. The library
/// itself waits anew for each byte. Used by one thread.
class ConnectionStream final : public httplib::Stream {
 public:
  /// The socket is not owned. The other arguments must outlive the object.
  ConnectionStream(int socket, const HttpLimits& limits, WaitingClients& waiting)
      : socket_(socket), limits_(limits), waiting_(waiting) {}
  ~ConnectionStream() override { waiting_.remove(socket_); }

  /// Waits for the first byte of a request; returns false if none comes in the idle time, or `is_ended` does, or the
  /// connection has to make room.
  bool begin_request(const std::function<bool()>& is_ended);
  /// Tells that the request is read: from now on the client waits for the server.
  void end_request() {
    is_read_ = true;
    leave_waiting();
  }
  /// Whether end_request() was called since the request began. Behind anything else nobody knows where one begins.
  bool is_read() const { return is_read_; }
  /// Whether the connection has to make room after this answer.
  bool must_end() const { return waiting_.must_end(socket_); }

  bool is_readable() const override { return wait(POLLIN, std::chrono::milliseconds(0)); }
  bool is_writable() const override;
  ssize_t read(char* bytes, size_t size) override;
  ssize_t write(const char* bytes, size_t size) override;
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  int socket() const override { return socket_; }

  /// Whether the client has closed its side: nobody takes what would be written.
  bool is_abandoned() const { return wait(POLLRDHUP | POLLHUP | POLLERR, std::chrono::milliseconds(0)); }

  /// Whether the head of the request is malformed. read() fails at the first wrong byte.
  bool is_malformed() const { return is_malformed_; }
  /// Whether a byte of an answer to the request was sent.
  bool has_answered() const { return has_answered_; }

  bool must_close = false;  ///< No further request of this connection is read.

 private:
  bool wait(short events, std::chrono::milliseconds most) const;
  void leave_waiting() const;

  const int socket_;
  const HttpLimits& limits_;
  WaitingClients& waiting_;
  std::chrono::steady_clock::time_point deadline_;  ///< Of the request.
  size_t num_requests_ = 0;                         ///< This one included.
  size_t num_read_ = 0;                             ///< Bytes of the request.
  bool is_read_ = false;                            ///< The request, to its end.
  bool is_malformed_ = false, has_answered_ = false;
  RequestHead head_;
  std::string ahead_;  ///< Bytes that came with those that were asked for.
};

}  // namespace attune
