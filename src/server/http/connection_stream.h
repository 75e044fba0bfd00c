// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "server/http/http_limits.h"
#include "server/http/waiting_clients.h"

namespace attune {

/// How reading a part of a request ended. `gone`: the client closed, was too slow, or had to make room.
enum class ReadEnd : uint8_t { whole, malformed, too_large, gone };

/// The bytes of one connection, within the limits of a request. Used by one thread.
class ConnectionStream {
 public:
  /// The socket is not owned. The other arguments must outlive the object.
  ConnectionStream(int socket, const HttpLimits& limits, WaitingClients& waiting)
      : socket_(socket), limits_(limits), waiting_(waiting) {}
  ~ConnectionStream() { waiting_.remove(socket_); }
  ConnectionStream(const ConnectionStream&) = delete;
  ConnectionStream& operator=(const ConnectionStream&) = delete;

  /// Waits for the first byte of a request; returns false if none comes in the idle time, or `is_ended` does, or the
  /// connection has to make room.
  bool begin_request(const std::function<bool()>& is_ended);
  /// Reads the request's lines up to the empty one, which is included; stops at the first byte that RequestHead
  /// refuses.
  ReadEnd read_head(std::string& head);
  /// Reads the `size` bytes behind the head.
  ReadEnd read_body(size_t size, std::string& body);
  /// Tells that the request is read: from now on the client waits for the server.
  void end_request() { leave_waiting(); }

  /// Writes all bytes; returns false if the client does not take them.
  bool write(std::string_view bytes);
  /// Whether the client has closed its side and takes no more bytes.
  bool is_abandoned() const;
  /// Whether the connection has to make room after this answer.
  bool must_end() const { return waiting_.must_end(socket_); }

 private:
  bool wait(short events, std::chrono::milliseconds max) const;
  ReadEnd fill();
  bool is_writable() const;
  void leave_waiting() const;

  const int socket_;
  const HttpLimits& limits_;
  WaitingClients& waiting_;
  std::chrono::steady_clock::time_point deadline_;  ///< Of the request.
  size_t num_requests_ = 0;                         ///< This one included.
  size_t num_read_ = 0;                             ///< Bytes of the request.
  std::string ahead_;                               ///< Bytes that came and are not read yet.
};

}  // namespace attune
