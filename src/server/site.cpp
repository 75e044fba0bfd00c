// SPDX-License-Identifier: MIT
#include "server/site.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/hash.h"
#include "base/library/embedded_file.h"
#include "server/journal_path.h"
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

Site::Site(const std::vector<std::filesystem::path>& journals, AccessRule access, ReadRows read_rows)
    : access_(std::move(access)), tables_(std::move(read_rows)) {
  for (const auto& journal : journals) names_.push_back(journal.filename().string());
  for (const auto& journal : journals)
    journals_.push_back(std::make_unique<JournalSite>(journal, names_, tables_, fleet_));
}

HttpAnswer Site::answer(const HttpRequest& request) {
  if (auto refusal = access_.refusal(request)) return *std::move(refusal);
  return tagged(answer_allowed(request), request);
}

HttpAnswer Site::answer_allowed(const HttpRequest& request) {
  if (request.path == AccessRule::kLoginPath) return access_.login(request);
  if (request.path == "/healthz") return health();
  if (request.path == "/metrics") return metrics();
  const JournalPath place = parse_journal_path(request.path);
  if (place.number < 1 || place.number > journals_.size())
    return error_answer(404, fmt::format("there is no such journal, they have the numbers 1 to {}", journals_.size()));
  HttpRequest asked = request;
  asked.path = place.path;
  if (auto data = journals_[place.number - 1]->answer(asked)) return *std::move(data);
  if (!request.path.starts_with('/')) return error_answer(400, "a path begins with /");
  // Each page is the same file, which shows what its address names.
  const bool is_page = asked.path == "/" || asked.path.starts_with("/pages/");
  if (auto file = file_answer(is_page ? "index.html" : std::string_view(asked.path).substr(1))) return *std::move(file);
  return error_answer(404, "there is no such page");
}

HttpAnswer Site::health() const {
  // A server of one journal is well while that is away. Of several, whoever looks at another one would not see it.
  for (size_t i = 0; journals_.size() > 1 && i < journals_.size(); ++i) {
    if (!journals_[i]->watch().state().failure.empty())
      return {.status = 503, .body = fmt::format("journal {} cannot be read\n", i + 1)};  // Not why: no token is asked.
  }
  return {.body = "ok\n"};
}

HttpAnswer Site::metrics() const {
  std::vector<std::vector<Metric>> journals;
  for (const auto& one : journals_) journals.push_back(one->watch().metrics());
  return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics_text(journals)};
}

}  // namespace attune
