// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/http_message.h"

namespace attune {

/// The head of a request, parsed.
struct ParsedHead {
  HttpRequest request;  ///< Without a form.
  bool is_version_1_0 = false;
  bool keeps_alive = false;               ///< Whether the client may send a further request.
  bool has_body = false;                  ///< Or could have one, in the eyes of some proxy.
  std::optional<size_t> body_bytes = {};  ///< Stated as one plain number, which every proxy reads alike.
  bool is_form = false;                   ///< Whether the body is one, by its type.
  bool expects_continue = false;          ///< The client sends its body after `100 Continue`.
};

/// Parses a head that RequestHead has accepted, up to its empty line. Nothing: it is no request of HTTP/1.0 or 1.1.
std::optional<ParsedHead> parse_head(const std::string& head);

/// The fields of a query or a form, decoded; of a name that is there twice, the first value.
std::map<std::string, std::string> parse_fields(std::string_view text);

}  // namespace attune
