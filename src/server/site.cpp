// SPDX-License-Identifier: MIT
#include "server/site.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/error.h"
#include "base/hash.h"
#include "server/embedded_file.h"
#include "server/event_stream.h"
#include "server/request_values.h"

namespace attune {

std::span<const EmbeddedFile> page_files();

namespace {

std::string_view type_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kTypes = {
      {{".html", "text/html; charset=utf-8"},
       {".js", "text/javascript; charset=utf-8"},
       {".css", "text/css; charset=utf-8"}}};
  const auto found = std::ranges::find_if(kTypes, [&](const auto& one) { return name.ends_with(one.first); });
  return found == kTypes.end() ? std::string_view("application/octet-stream") : found->second;
}

/// One of the program's own files; nothing for another name.
std::optional<HttpAnswer> file_answer(std::string_view name) {
  const auto files = page_files();
  const auto file = std::ranges::find(files, name, &EmbeddedFile::name);
  if (file == files.end()) return std::nullopt;
  return HttpAnswer{.type = std::string(type_of(name)), .body = std::string(file->bytes)};
}

/// Adds the answer's tag; an answer that the client has becomes 304.
HttpAnswer tagged(HttpAnswer answer, const HttpRequest& request) {
  if (answer.status != 200 || answer.parts) return answer;
  const std::string tag = fmt::format("\"{}\"", hash128(answer.body).hex());
  answer.headers.emplace_back("ETag", tag);
  answer.headers.emplace_back("Cache-Control", "no-cache");  // Ask again, with the tag.
  if (request.if_none_match == tag) {
    answer.status = 304;
    answer.body.clear();
  }
  return answer;
}

}  // namespace

HttpAnswer Site::answer(const HttpRequest& request) {
  if (auto refusal = access_.refusal(request)) return *std::move(refusal);
  return tagged(answer_allowed(request), request);
}

HttpAnswer Site::answer_allowed(const HttpRequest& request) {
  if (request.path == AccessRule::kLoginPath) return access_.login(request);
  if (request.path == "/healthz") return {.body = "ok\n"};
  if (request.path == "/metrics")
    return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = watch_.metrics_text()};
  if (request.path == "/events") {
    try {
      return event_stream(request, journal_, watch_);
    } catch (const Error& error) {
      return error_answer(400, error.what());
    }
  }
  if (auto data = api_.answer(request)) return *std::move(data);
  if (!request.path.starts_with('/')) return error_answer(400, "a path begins with /");
  // Each page is the same file, which shows what its address names.
  const bool is_page = request.path == "/" || request.path.starts_with("/pages/");
  if (auto file = file_answer(is_page ? "index.html" : std::string_view(request.path).substr(1)))
    return *std::move(file);
  return error_answer(404, "there is no such page");
}

}  // namespace attune
