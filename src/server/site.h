// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "server/access_rule.h"
#include "server/fleet/fleet_reader.h"
#include "server/http/http_message.h"
#include "server/journal_site.h"
#include "server/tables/table_reader.h"

namespace attune {

/// Everything that `attune serve` answers: pages, data, events, metrics. The first journal is at `/`, each one under
/// `/journals/<number>/` too. Thread-safe.
class Site {
 public:
  /// `journals`: at least one.
  Site(const std::vector<std::filesystem::path>& journals, AccessRule access, ReadRows read_rows = nullptr);

  HttpAnswer answer(const HttpRequest& request);

 private:
  HttpAnswer answer_allowed(const HttpRequest& request);
  HttpAnswer health() const;
  HttpAnswer metrics() const;

  AccessRule access_;
  TableReader tables_;
  FleetReader fleet_;
  std::vector<std::string> names_;  ///< Of the journals' files.
  std::vector<std::unique_ptr<JournalSite>> journals_;
};

}  // namespace attune
