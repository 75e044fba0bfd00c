// SPDX-License-Identifier: MIT
#include "server/http/request_parser.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <charconv>

#include "base/text.h"

namespace attune {
namespace {

namespace http = boost::beast::http;
using Parser = http::request_parser<http::empty_body>;
using Fields = Parser::value_type;

/// `a%20b` as `a b`; a `%` without two digits stands for itself. In a query and a form `+` is a space.
std::string decoded(std::string_view text, bool plus_is_space) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() && std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

std::string value_of(const Fields& fields, http::field name) {
  const auto found = fields.find(name);
  return found == fields.end() ? std::string() : std::string(found->value().data(), found->value().size());
}

std::optional<size_t> plain_length(const Fields& fields) {
  const std::string length = value_of(fields, http::field::content_length);
  size_t bytes = 0;
  const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), bytes);
  const bool is_plain = error == std::errc() && end == length.data() + length.size();
  if (!is_plain || fields.count(http::field::content_length) != 1 || fields.count(http::field::transfer_encoding) != 0)
    return std::nullopt;
  return bytes;
}

HttpRequest request_of(const Fields& fields) {
  const std::string target(fields.target().data(), fields.target().size());
  const size_t question = std::min(target.find('?'), target.size());
  HttpRequest request{.method = std::string(fields.method_string().data(), fields.method_string().size()),
                      .path = decoded(std::string_view(target).substr(0, question), false)};
  if (question < target.size()) request.query = parse_fields(std::string_view(target).substr(question + 1));
  if (fields.count(http::field::host) == 1) request.host = value_of(fields, http::field::host);
  request.authorization = value_of(fields, http::field::authorization);
  request.cookie = value_of(fields, http::field::cookie);
  request.if_none_match = value_of(fields, http::field::if_none_match);
  const auto last_event_id = fields.find("Last-Event-ID");
  if (last_event_id != fields.end())
    request.last_event_id.assign(last_event_id->value().data(), last_event_id->value().size());
  return request;
}

}  // namespace

std::optional<ParsedHead> parse_head(const std::string& head) {
  Parser parser;
  parser.header_limit(static_cast<uint32_t>(head.size() + 1));
  parser.skip(true);  // The server reads the body, if it wants one.
  boost::beast::error_code error;
  const size_t used = parser.put(boost::asio::const_buffer(head.data(), head.size()), error);
  if (error || used != head.size() || !parser.is_header_done()) return std::nullopt;
  const Fields& fields = parser.get();
  if (fields.method() == http::verb::unknown || (fields.version() != 10 && fields.version() != 11)) return std::nullopt;
  ParsedHead parsed{.request = request_of(fields), .is_version_1_0 = fields.version() == 10};
  parsed.keeps_alive = parser.keep_alive();
  parsed.body_bytes = plain_length(fields);
  parsed.has_body = fields.count(http::field::transfer_encoding) != 0 ||
                    (fields.count(http::field::content_length) != 0 && parsed.body_bytes != 0u);
  parsed.is_form =
      to_lower(value_of(fields, http::field::content_type)).starts_with("application/x-www-form-urlencoded");
  parsed.expects_continue = to_lower(value_of(fields, http::field::expect)) == "100-continue";
  return parsed;
}

std::map<std::string, std::string> parse_fields(std::string_view text) {
  std::map<std::string, std::string> fields;
  while (!text.empty()) {
    const size_t end = std::min(text.find('&'), text.size());
    const std::string_view one = text.substr(0, end);
    const size_t equals = std::min(one.find('='), one.size());
    if (!one.empty())
      fields.emplace(decoded(one.substr(0, equals), true), decoded(one.substr(std::min(equals + 1, one.size())), true));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return fields;
}

}  // namespace attune
