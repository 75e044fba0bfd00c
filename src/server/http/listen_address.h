// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace attune {

/// Where a server listens.
struct ListenAddress {
  std::string host = "127.0.0.1";  ///< A name or an address, an IPv6 one without brackets.
  uint16_t port = 8080;            ///< 0: one that is free.
  bool operator==(const ListenAddress&) const = default;

  /// Whether only this machine reaches it: 127.0.0.0/8, ::1, or `localhost`.
  bool is_loopback() const;
  /// Whether it is no address of its own but stands for all of this machine: 0.0.0.0 or ::.
  bool is_any() const;
  /// `127.0.0.1:8080`, `[::1]:8080`.
  std::string text() const;
};

/// Parses `host:port`, `[address]:port`, `host` or `:port`. Throws invalid_input for another text.
ListenAddress parse_listen_address(std::string_view text);

}  // namespace attune
