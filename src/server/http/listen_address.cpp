// SPDX-License-Identifier: MIT
#include "server/http/listen_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace attune {
namespace {

[[noreturn]] void fail_address(std::string_view text) {
  fail(ErrorCode::invalid_input, "an address is host:port, as 127.0.0.1:8080 or [::1]:8080, got '{}'", text);
}

uint16_t parse_port(std::string_view port, std::string_view text) {
  constexpr int64_t kMaxPort = 65535;
  const auto number = parse_int(port);
  if (!number || *number < 0 || *number > kMaxPort) fail_address(text);
  return static_cast<uint16_t>(*number);
}

bool is_host(std::string_view host) {
  constexpr size_t kMaxHost = 253;    // RFC 1035
  if (parse_int(host)) return false;  // A port whose colon was forgotten.
  return !host.empty() && host.size() <= kMaxHost && std::ranges::all_of(host, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == ':';
  });
}

/// The bytes of an IPv4 or IPv6 address, 4 or 16; none for a name.
std::vector<unsigned char> address_bytes(const std::string& host) {
  std::vector<unsigned char> bytes(sizeof(in6_addr));
  if (::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1) return bytes;
  bytes.resize(sizeof(in_addr));
  if (::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1) return bytes;
  return {};
}

bool are_zero(std::span<const unsigned char> bytes) {
  return std::ranges::all_of(bytes, [](unsigned char byte) { return byte == 0; });
}

}  // namespace

bool ListenAddress::is_loopback() const {
  if (to_lower(host) == "localhost") return true;
  const auto bytes = address_bytes(host);
  if (bytes.size() == sizeof(in_addr)) return bytes.front() == 127;
  return !bytes.empty() && bytes.back() == 1 && are_zero(std::span(bytes).first(bytes.size() - 1));
}

bool ListenAddress::is_any() const {
  const auto bytes = address_bytes(host);
  return !bytes.empty() && are_zero(bytes);
}

std::string ListenAddress::text() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

ListenAddress parse_listen_address(std::string_view text) {
  ListenAddress address;
  std::string_view host = text, port;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) fail_address(text);
    host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    if (host.find(':') == std::string_view::npos || (!port.empty() && !port.starts_with(':'))) fail_address(text);
    if (!port.empty()) port.remove_prefix(1);
  } else if (const size_t colon = text.find(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
    if (port.empty() || port.find(':') != std::string_view::npos) fail_address(text);
  }
  const bool is_port_alone = host.empty() && !port.empty();
  if (!is_port_alone && !is_host(host)) fail_address(text);
  if (!is_port_alone) address.host = host;
  if (!port.empty()) address.port = parse_port(port, text);
  return address;
}

}  // namespace attune
