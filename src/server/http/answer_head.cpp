// SPDX-License-Identifier: MIT
#include "server/http/answer_head.h"

#include <fmt/format.h>

#include <string_view>

namespace attune {
namespace {

/// No script, style or picture but the server's own; no frame around it.
constexpr std::string_view kCommonFields =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "X-Frame-Options: DENY\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n";

/// For people who read along; programs go by the number.
std::string_view phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Content Too Large";
    case 421:
      return "Misdirected Request";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    default:
      return "";
  }
}

}  // namespace

std::string answer_head(const HttpAnswer& answer, BodyEnd end, bool closes) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n{}", answer.status, phrase(answer.status), kCommonFields);
  if (answer.status != 304) head += fmt::format("Content-Type: {}\r\n", answer.type);
  if (end == BodyEnd::chunks) head += "Transfer-Encoding: chunked\r\n";
  if (end == BodyEnd::length && answer.status != 304) head += fmt::format("Content-Length: {}\r\n", answer.body.size());
  for (const auto& [name, value] : answer.headers) head += fmt::format("{}: {}\r\n", name, value);
  return head + (closes ? "Connection: close\r\n\r\n" : "\r\n");
}

}  // namespace attune
