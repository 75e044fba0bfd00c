// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/api_route.h"
#include "server/fleet/fleet_reader.h"
#include "server/http/http_message.h"
#include "server/journal/journal_watch.h"
#include "server/journal/served_journal.h"
#include "server/tables/table_reader.h"

namespace attune {

/// The data of a journal as JSON over HTTP (docs/serve.md). Const calls are thread-safe.
class Api {
 public:
  static std::span<const ApiRoute> routes();

  /// `names`: of the files of all journals of the server. All but `journal` must outlive the object.
  Api(const std::filesystem::path& journal, const std::vector<std::string>& names, const JournalWatch& watch,
      TableReader& tables, FleetReader& fleet)
      : journal_(journal), names_(names), watch_(watch), tables_(tables), fleet_(fleet) {}

  /// Nothing for a path that is none of routes(). A wrong parameter is answered with 400, a journal that cannot be read
  /// with 503, both with a sentence.
  std::optional<HttpAnswer> answer(const HttpRequest& request);

 private:
  HttpAnswer answer_route(std::string_view path, const HttpRequest& request);
  HttpAnswer state(const HttpRequest& request);
  HttpAnswer runs(const HttpRequest& request);
  HttpAnswer results(const HttpRequest& request);
  HttpAnswer problem(const HttpRequest& request);
  HttpAnswer devices(const HttpRequest& request);
  HttpAnswer tables(const HttpRequest& request);
  HttpAnswer quarantine(const HttpRequest& request);
  HttpAnswer bans(const HttpRequest& request);
  HttpAnswer entries(const HttpRequest& request);
  HttpAnswer fleet(const HttpRequest& request);
  HttpAnswer journals(const HttpRequest& request);
  HttpAnswer openapi(const HttpRequest& request);

  ServedJournal journal_;
  const std::vector<std::string>& names_;
  const JournalWatch& watch_;
  TableReader& tables_;
  FleetReader& fleet_;
};

}  // namespace attune
