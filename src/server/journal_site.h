// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "server/api.h"
#include "server/fleet/fleet_reader.h"
#include "server/http/http_message.h"
#include "server/journal/journal_watch.h"
#include "server/tables/table_reader.h"

namespace attune {

/// What `attune serve` answers about one journal: data and events. Thread-safe.
class JournalSite {
 public:
  /// `names`: of all journals of the server. All but `journal` must outlive the object.
  JournalSite(const std::filesystem::path& journal, const std::vector<std::string>& names, TableReader& tables,
              FleetReader& fleet)
      : watch_(journal), api_(journal, names, watch_, tables, fleet), journal_(journal) {}

  /// Nothing for a path that is of neither.
  std::optional<HttpAnswer> answer(const HttpRequest& request);
  const JournalWatch& watch() const { return watch_; }

 private:
  JournalWatch watch_;
  Api api_;
  ServedJournal journal_;  ///< Of the streams.
};

}  // namespace attune
