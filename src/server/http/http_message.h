// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attune {

/// A request as it came: nothing in it can be trusted.
struct HttpRequest {
  std::string method;                        ///< `GET`.
  std::string path;                          ///< Decoded, without the query.
  std::map<std::string, std::string> query;  ///< Decoded; of a name that is there twice, the first value.
  std::map<std::string, std::string> form;   ///< Fields of a form that was sent.
  std::optional<std::string> host;           ///< Nothing: there is none, or several.
  std::string authorization, cookie, if_none_match, last_event_id;

  /// The value of a name of the query; empty without one.
  std::string_view value(const std::string& name) const {
    const auto found = query.find(name);
    return found == query.end() ? std::string_view() : std::string_view(found->second);
  }
};

/// Returns the next part of a stream; empty after a short wait without one; nothing at the end.
using HttpParts = std::function<std::optional<std::string>()>;

struct HttpAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};
  HttpParts parts = nullptr;  ///< Of a stream, in place of the body.
};

/// Answers a request; called by several threads at once. What it throws becomes status 500.
using HttpHandler = std::function<HttpAnswer(const HttpRequest&)>;

}  // namespace attune
