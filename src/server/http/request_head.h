// SPDX-License-Identifier: MIT
#pragma once

namespace attune {

/// Accepts the head of an HTTP/1.1 request only in the one form that every proxy reads alike (RFC 9112), so that no
/// request can be hidden in another. Each line ends with CR LF and holds no other control character than a tab in a
/// value. No line is folded. Each field is a token and a colon, without a space between them.
class RequestHead {
 public:
  /// Takes the next byte of the connection. Returns false if the head is malformed; bytes after the head are no-ops.
  bool take(char byte);
  /// Whether the empty line that ends a head was taken.
  bool is_complete() const { return place_ == Place::end; }

 private:
  enum class Place { request_line, line_start, name, value, line_feed, last_line_feed, end };
  Place place_ = Place::request_line;
};

}  // namespace attune
