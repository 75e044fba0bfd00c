// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>

#include "server/access_rule.h"
#include "server/api.h"
#include "server/http/http_message.h"
#include "server/journal/journal_watch.h"

namespace attune {

/// Everything that `attune serve` answers: pages, data, events, metrics. Thread-safe.
class Site {
 public:
  Site(const std::filesystem::path& journal, AccessRule access, ReadRows read_rows = nullptr)
      : access_(std::move(access)), watch_(journal), api_(journal, watch_, std::move(read_rows)), journal_(journal) {}

  HttpAnswer answer(const HttpRequest& request);

 private:
  HttpAnswer answer_allowed(const HttpRequest& request);

  AccessRule access_;
  JournalWatch watch_;
  Api api_;
  ServedJournal journal_;  ///< Of the streams.
};

}  // namespace attune
