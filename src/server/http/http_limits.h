// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstddef>

namespace attune {

/// What a client can take of a server at most.
struct HttpLimits {
  /// A further connection ends the one whose client the server has waited for longest. If the server waits for none, it
  /// ends one that has had an answer: after the next answer, or at once if that is a stream. If there is no such one,
  /// the further connection is answered with 503 and closed.
  size_t max_connections = 64;
  size_t max_streams = 16;  ///< Of the connections; further streams are answered with 503.
  size_t max_request_bytes = 8192;
  std::chrono::milliseconds request_time{10'000};  ///< From the first byte of a request to its last.
  std::chrono::milliseconds idle_time{5'000};      ///< Between two requests of a connection.
  std::chrono::milliseconds write_time{10'000};    ///< For a part of an answer that a client does not take.
};

}  // namespace attune
